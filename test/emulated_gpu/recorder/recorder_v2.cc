// SPDX-License-Identifier: Apache-2.0
//
// The recorder as a version 2 plugin.
#include "recorder.h"

using namespace profiler_abi;

namespace recorder {
namespace {

constexpr int kAllTypes = 0x3f;

Result init(void** context, int* mask) {
  *context = handle_of(next_number());
  *mask = activation_mask(kAllTypes);
  Line("init").number("context", number_of(*context)).integer("mask", *mask).write();
  return kSuccess;
}

Result start_event(void* context, void** handle, v2::Event* event) {
  Line line = begin_event(context, handle, *event);
  switch (event->type) {
    case kCollective: {
      const auto& details = event->collective;
      line.text("communicator", details.name).number("hash", details.communicator_hash);
      line.number("sequence", details.sequence_number).text("function", details.function);
      line.number("count", details.count).text("datatype", details.datatype);
      line.integer("root", details.root).number("traffic_bytes", details.traffic_bytes);
      line.number("channels", details.max_channels).number("warps", details.warps);
      line.text("algorithm", details.algorithm).text("protocol", details.protocol);
      break;
    }
    case kPointToPoint: {
      const auto& details = event->point_to_point;
      line.text("communicator", details.name).number("hash", details.communicator_hash);
      line.text("function", details.function).number("count", details.count);
      line.text("datatype", details.datatype).integer("peer", details.peer);
      break;
    }
    case kProxyOperation:
      add_proxy_operation(line, event->proxy_operation);
      break;
    case kProxyStep:
      line.integer("step", event->proxy_step.step);
      break;
    default:
      break;
  }
  line.write();
  return kSuccess;
}

Result record_event_state(void* handle, State state, void*) {
  Line("state").number("event", number_of(handle)).integer("state", state).write();
  return kSuccess;
}

}  // namespace
}  // namespace recorder

extern "C" {
__attribute__((visibility("default"))) v2::Profiler ncclProfiler_v2{"recorder",
                                                                    recorder::init,
                                                                    recorder::start_event,
                                                                    recorder::stop_event,
                                                                    recorder::record_event_state,
                                                                    recorder::finalize};
}
