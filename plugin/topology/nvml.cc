// SPDX-License-Identifier: Apache-2.0
#include "plugin/topology/nvml.h"

#include <dlfcn.h>
#include <type_traits>

namespace ringside::topology {

bool Nvml::open(std::string& error) {
  void* const library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    error = "libnvidia-ml.so.1 cannot be loaded";
    return false;
  }
  const auto find = [library](auto& function, const char* symbol) {
    function =
        reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, symbol));
  };
#define RINGSIDE_NVML_FIND(result, name, symbol, ...) find(name, symbol);
  RINGSIDE_NVML_FUNCTIONS(RINGSIDE_NVML_FIND)
#undef RINGSIDE_NVML_FIND
  int (*init)() = nullptr;
  find(init, "nvmlInit_v2");
  if (init == nullptr || device_count == nullptr || device_by_index == nullptr) {
    error = "libnvidia-ml.so.1 lacks functions of NVML";
    return false;
  }
  if (const int result = init(); result != kSuccess) {
    error = "NVML: " + text_of(result);
    return false;
  }
  return true;
}

std::string Nvml::text_of(int result) const {
  const char* const text = error_string != nullptr ? error_string(result) : nullptr;
  return text != nullptr ? text : "error " + std::to_string(result);
}

}  // namespace ringside::topology
