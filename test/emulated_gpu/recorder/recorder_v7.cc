// SPDX-License-Identifier: Apache-2.0
//
// The recorder as a version 7 plugin. It writes in the form of test/data/transcripts, which
// nccl_host can replay to a plugin.
#include <bit>
#include <ctime>
#include <pthread.h>
#include <unistd.h>

#include "recorder.h"

using namespace profiler_abi;

namespace recorder {
namespace {

constexpr int kAllTypes = 0xffff;
constexpr const char* kTypes[]{"Group",     "Coll",      "P2p",      "ProxyOp",
                               "ProxyStep", "ProxyCtrl", "KernelCh", "NetPlugin",
                               "GroupApi",  "CollApi",   "P2pApi",   "KernelLaunch",
                               "CeColl",    "CeSync",    "CeBatch",  "KernelPhase"};

// A handle is a number, its communicator's and the event's type: what each line says of it.
class Handle {
 public:
  Handle(std::uint64_t number, std::uint64_t context, std::uint64_t type)
      : value_(number << 16 | context << 4 | static_cast<std::uint64_t>(std::countr_zero(type))) {}
  explicit Handle(const void* handle) : value_(number_of(handle)) {}

  void* pointer() const { return handle_of(value_); }
  std::uint64_t number() const { return value_ >> 16; }
  std::uint64_t context() const { return value_ >> 4 & 0xfff; }
  EventType type() const { return EventType{1U << (value_ & 15)}; }
  const char* type_name() const { return kTypes[value_ & 15]; }

 private:
  std::uint64_t value_;
};

void add_reference(Line& line, const char* key, const void* handle) {
  if (handle == nullptr) {
    line.text(key, nullptr);
  } else {
    line.number(key, Handle(handle).number());
  }
}

// Once for each thread: its name, and whether it is the main one.
Line begin_line(const char* callback) {
  static thread_local bool named = false;
  Line line = Line::of_transcript(callback);
  if (!named) {
    char name[16] = "";
    pthread_getname_np(pthread_self(), name, sizeof name);
    line.text("threadName", name).integer("mainThread", gettid() == getpid());
    named = true;
  }
  return line;
}

Line about(const char* callback, const Handle& handle) {
  Line line = begin_line(callback);
  line.number("h", handle.number()).text("type", handle.type_name());
  line.number("ctx", handle.context());
  return line;
}

Result init(void** context, std::uint64_t communicator, int* mask, const char* name, int node_count,
            int rank_count, int rank, DebugLogger logger) {
  static std::atomic<std::uint64_t> next{1};
  *context = handle_of(next++);
  Line line = begin_line("init");
  line.text("commName", name).hexadecimal("commId", communicator).integer("nNodes", node_count);
  line.integer("nranks", rank_count).integer("rank", rank).integer("logfn", logger != nullptr);
  line.hexadecimal("maskPtr", number_of(mask)).integer("maskIn", *mask);
  *mask = activation_mask(kAllTypes);
  line.number("ctx", number_of(*context)).integer("maskOut", *mask);
  line.write();
  return kSuccess;
}

template <class Call>
void add_call(Line& line, const Call& call) {
  line.text("func", call.function).number("count", call.count).text("datatype", call.datatype);
  line.hexadecimal("userTag", call.user_tag);
}

template <class Call>
void add_api(Line& line, const Call& call) {
  add_call(line, call);
  line.hexadecimal("stream", number_of(call.stream)).integer("graphCaptured", call.graph_captured);
}

void add_operation(Line& line, const v7::Event& event) {
  if (event.type == kPointToPoint) {
    const auto& details = event.point_to_point;
    add_call(line, details);
    line.hexadecimal("buff", number_of(details.buffer)).integer("peer", details.peer);
    line.number("nChannels", details.channels);
    add_reference(line, "parentGroup", details.parent_group);
    return;
  }
  const auto& details = event.collective;
  add_call(line, details);
  line.number("seqNumber", details.sequence_number).integer("root", details.root);
  line.text("algo", details.algorithm).text("proto", details.protocol);
  line.hexadecimal("sendBuff", number_of(details.send_buffer));
  line.hexadecimal("recvBuff", number_of(details.receive_buffer));
  line.number("nChannels", details.channels).number("nWarps", details.warps);
  line.text("kernelVariant", details.kernel_variant).integer("isSymColl", details.symmetric);
  add_reference(line, "parentGroup", details.parent_group);
}

void add_proxy_operation_of_transcript(Line& line, const ProxyOperation& operation) {
  line.integer("pid", operation.pid).integer("pidIsMine", operation.pid == getpid());
  line.number("channelId", operation.channel).integer("peer", operation.peer);
  line.integer("nSteps", operation.step_count).integer("chunkSize", operation.chunk_size);
  line.integer("isSend", operation.is_send);
}

void add_details(Line& line, const v7::Event& event) {
  switch (event.type) {
    case kGroupApi:
      line.integer("graphCaptured", event.group_api.graph_captured);
      line.integer("groupDepth", event.group_api.depth);
      break;
    case kCollectiveApi:
      add_api(line, event.collective_api);
      line.integer("root", event.collective_api.root);
      break;
    case kPointToPointApi:
      add_api(line, event.point_to_point_api);
      break;
    case kKernelLaunch:
      line.hexadecimal("stream", number_of(event.kernel_launch.stream));
      break;
    case kCollective:
    case kPointToPoint:
      add_operation(line, event);
      break;
    case kProxyOperation:
      add_proxy_operation_of_transcript(line, event.proxy_operation);
      break;
    case kProxyStep:
      line.integer("step", event.proxy_step.step);
      break;
    case kKernelChannel:
      line.number("channelId", event.kernel_channel.channel);
      line.number("pTimer", event.kernel_channel.start_timer);
      break;
    case kKernelPhase:
      line.number("channelId", event.kernel_phase.channel);
      line.number("phaseId", event.kernel_phase.phase).text("phaseName", event.kernel_phase.name);
      line.number("pTimer", event.kernel_phase.start_timer);
      break;
    default:
      break;
  }
}

Result start_event(void* context, void** handle, v7::Event* event) {
  const Handle made(next_number(), number_of(context), event->type);
  Line line = about("startEvent", made);
  line.hexadecimal("eHandleBefore", number_of(*handle)).integer("rank", event->rank);
  add_reference(line, "parent", event->parent);
  add_details(line, *event);
  line.write();
  *handle = made.pointer();
  return kSuccess;
}

Result stop_event_of_transcript(void* handle) {
  about("stopEvent", Handle(handle)).write();
  return kSuccess;
}

Result record_event_state(void* handle, State state, v7::StateArguments* arguments) {
  const Handle of(handle);
  Line line = about("recordEventState", of);
  line.integer("state", state).integer("argsNull", arguments == nullptr);
  if (arguments != nullptr) {
    if (of.type() == kProxyStep) line.number("transSize", arguments->bytes);
    if (of.type() == kProxyControl) line.integer("appendedProxyOps", arguments->appended);
    if (of.type() == kKernelChannel || of.type() == kKernelPhase) {
      line.number("pTimer", arguments->stopped);
    }
  }
  line.write();
  return kSuccess;
}

Result finalize_of_transcript(void* context) {
  begin_line("finalize").number("ctx", number_of(context)).write();
  return kSuccess;
}

// NCCL loads the library before it calls anything in it, and may unload it.
[[gnu::constructor]] void loaded() {
  timespec real{};
  clock_gettime(CLOCK_REALTIME, &real);
  Line line = Line::of_transcript("dlopen");
  line.integer("abi", 7).integer("pid", getpid());
  line.integer("realtime_ns", real.tv_sec * 1'000'000'000 + real.tv_nsec).write();
}

[[gnu::destructor]] void unloaded() {
  Line::of_transcript("dlclose_or_exit").integer("pid", getpid()).write();
}

}  // namespace
}  // namespace recorder

extern "C" {
__attribute__((visibility("default")))
v7::Profiler ncclProfiler_v7{"recorder",
                             recorder::init,
                             recorder::start_event,
                             recorder::stop_event_of_transcript,
                             recorder::record_event_state,
                             recorder::finalize_of_transcript};
}
