// SPDX-License-Identifier: Apache-2.0
//
// The recorder as a version 6 plugin.
#include "recorder.h"

using namespace profiler_abi;

namespace recorder {
namespace {

constexpr int kAllTypes = 0x7fff;

Result init(void** context, std::uint64_t communicator, int* mask, const char* name, int node_count,
            int rank_count, int rank, DebugLogger) {
  *context = handle_of(next_number());
  *mask = activation_mask(kAllTypes);
  Line line("init");
  line.number("context", number_of(*context)).integer("mask", *mask);
  line.number("hash", communicator).text("communicator", name);
  line.integer("nodes", node_count).integer("ranks", rank_count).integer("rank", rank);
  line.write();
  return kSuccess;
}

void add_details(Line& line, const v6::Event& event) {
  switch (event.type) {
    case kGroupApi:
      line.integer("depth", event.group_api.depth);
      break;
    case kCollectiveApi: {
      const auto& details = event.collective_api;
      line.text("function", details.function).number("count", details.count);
      line.text("datatype", details.datatype).integer("root", details.root);
      break;
    }
    case kPointToPointApi: {
      const auto& details = event.point_to_point_api;
      line.text("function", details.function).number("count", details.count);
      line.text("datatype", details.datatype);
      break;
    }
    case kCollective: {
      const auto& details = event.collective;
      line.number("sequence", details.sequence_number).text("function", details.function);
      line.number("count", details.count).text("datatype", details.datatype);
      line.integer("root", details.root).number("channels", details.channels);
      line.number("warps", details.warps).text("algorithm", details.algorithm);
      line.text("protocol", details.protocol).number("group", number_of(details.parent_group));
      break;
    }
    case kPointToPoint: {
      const auto& details = event.point_to_point;
      line.text("function", details.function).number("count", details.count);
      line.text("datatype", details.datatype).integer("peer", details.peer);
      line.number("channels", details.channels);
      line.number("group", number_of(details.parent_group));
      break;
    }
    case kProxyOperation:
      add_proxy_operation(line, event.proxy_operation);
      break;
    case kProxyStep:
      line.integer("step", event.proxy_step.step);
      break;
    case kKernelChannel:
      line.number("channel", event.kernel_channel.channel);
      line.number("device_time", event.kernel_channel.start_timer);
      break;
    default:
      break;
  }
}

Result start_event(void* context, void** handle, v6::Event* event) {
  Line line = begin_event(context, handle, *event);
  add_details(line, *event);
  line.write();
  return kSuccess;
}

Result record_event_state(void* handle, State state, void* arguments) {
  Line line("state");
  line.number("event", number_of(handle)).integer("state", state);
  if (state == v6::kKernelChannelStop && arguments != nullptr) {
    line.number("device_time", *static_cast<const std::uint64_t*>(arguments));
  }
  line.write();
  return kSuccess;
}

}  // namespace
}  // namespace recorder

extern "C" {
__attribute__((visibility("default"))) v6::Profiler ncclProfiler_v6{"recorder",
                                                                    recorder::init,
                                                                    recorder::start_event,
                                                                    recorder::stop_event,
                                                                    recorder::record_event_state,
                                                                    recorder::finalize};
}
