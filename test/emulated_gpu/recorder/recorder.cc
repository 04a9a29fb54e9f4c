// SPDX-License-Identifier: Apache-2.0
#include "recorder.h"

#include <bit>
#include <cstdlib>

namespace recorder {

int activation_mask(int all_types) {
  const char* const mask = std::getenv("RECORDER_MASK");
  return mask ? static_cast<int>(std::strtol(mask, nullptr, 0)) : all_types;
}

const char* type_name(std::uint64_t type) {
  constexpr const char* kNames[]{"group",           "collective",         "point_to_point",
                                 "proxy_operation", "proxy_step",         "proxy_control",
                                 "kernel_channel",  "network_plugin",     "group_api",
                                 "collective_api",  "point_to_point_api", "kernel_launch"};
  const auto index = static_cast<std::size_t>(std::countr_zero(type));
  return std::has_single_bit(type) && index < std::size(kNames) ? kNames[index] : "other";
}

profiler_abi::Result stop_event(void* handle) {
  Line("stop").number("event", number_of(handle)).write();
  return profiler_abi::kSuccess;
}

profiler_abi::Result finalize(void* context) {
  Line("finalize").number("context", number_of(context)).write();
  return profiler_abi::kSuccess;
}

}  // namespace recorder
