// SPDX-License-Identifier: Apache-2.0
//
// Translates a version's descriptor into the one internal form. The versions differ in which fields
// they have and in their places, and hardly in their meaning, so this code asks each descriptor for
// the fields that it has.
#ifndef RINGSIDE_PLUGIN_ABI_TRANSLATE_H
#define RINGSIDE_PLUGIN_ABI_TRANSLATE_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "plugin/record/callbacks.h"
#include "plugin/record/event_start.h"

namespace ringside::abi {

// NCCL's enumerations as they were in 2.23, in order, because version 1 of the interface gives
// numbers. The adapter of newer releases maps their newer functions to Send and their newer
// datatypes to Float64, and nothing here can undo that. Every other version gives names, which
// name_of() returns as they are.
inline constexpr const char* kFuncs[] = {"Broadcast", "Reduce",   "AllGather", "ReduceScatter",
                                         "AllReduce", "SendRecv", "Send",      "Recv"};
inline constexpr const char* kDatatypes[] = {
    "ncclInt8",   "ncclUint8",   "ncclInt32",   "ncclUint32",  "ncclInt64",
    "ncclUint64", "ncclFloat16", "ncclFloat32", "ncclFloat64", "ncclBfloat16"};
inline constexpr const char* kAlgos[] = {
    "TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT"};
inline constexpr const char* kProtos[] = {"LL", "LL128", "SIMPLE"};

template <std::size_t kSize>
const char* name_of(const char* const (&names)[kSize], std::uint8_t number) {
  return number < kSize ? names[number] : nullptr;
}
template <std::size_t kSize>
const char* name_of(const char* const (&)[kSize], const char* name) {
  return name;
}

inline std::uint64_t address(const void* pointer) {
  return reinterpret_cast<std::uint64_t>(pointer);
}

template <typename Coll>
[[gnu::always_inline]] inline void translate_coll(const Coll& from,
                                                  record::CollStart& to) noexcept {
  to = {};
  to.func = name_of(kFuncs, from.func);
  to.datatype = name_of(kDatatypes, from.datatype);
  to.count = from.count;
  if constexpr (requires { from.seqNumber; }) to.seq = from.seqNumber;
  if constexpr (requires { from.root; }) to.root_or_peer = from.root;
  if constexpr (requires { from.peer; }) to.root_or_peer = from.peer;
  if constexpr (requires { from.algo; }) to.algo = name_of(kAlgos, from.algo);
  if constexpr (requires { from.proto; }) to.proto = name_of(kProtos, from.proto);
  if constexpr (requires { from.nWarps; }) to.warps = from.nWarps;
  if constexpr (requires { from.nChannels; }) to.channels = from.nChannels;
  if constexpr (requires { from.nMaxChannels; }) to.channels = from.nMaxChannels;
  if constexpr (requires { from.commHash; }) to.comm_hash = from.commHash;
  if constexpr (requires { from.parentGroup; }) to.parent_group = from.parentGroup;
  if constexpr (requires { from.userTag; }) to.user_tag = from.userTag;
  if constexpr (requires { from.stream; }) to.stream = address(from.stream);
  if constexpr (requires { from.isSymColl; }) to.symmetric = from.isSymColl;
  if constexpr (requires { from.kernelVariant; }) to.variant = from.kernelVariant;
  if constexpr (requires { from.name; }) {
    to.variant = from.name;
    to.variant_is_comm_name = from.name != nullptr;
  }
}

template <typename Call>
[[gnu::always_inline]] inline void translate_call(const Call& from, record::ApiStart& to) noexcept {
  to = {};
  to.func = from.func;
  to.datatype = from.datatype;
  to.count = from.count;
  to.stream = address(from.stream);
  to.captured = from.graphCaptured;
  to.root_or_depth = -1;
  if constexpr (requires { from.root; }) to.root_or_depth = from.root;
  if constexpr (requires { from.userTag; }) to.user_tag = from.userTag;
}

/// Fills the part of `to` that belongs to its type; false for a type that the version does not
/// have.
template <typename Descr>
[[gnu::always_inline]] inline bool translate_payload(const Descr& from,
                                                     record::EventStart& to) noexcept {
  using record::EventType;
  switch (to.type) {
    case EventType::kGroup:
    case EventType::kProxyCtrl:
      return true;
    case EventType::kColl:
      translate_coll(from.coll, to.coll);
      return true;
    case EventType::kP2p:
      translate_coll(from.p2p, to.coll);
      return true;
    case EventType::kProxyOp:
      to.proxy_op = {from.proxyOp.pid,       from.proxyOp.peer,      from.proxyOp.nSteps,
                     from.proxyOp.chunkSize, from.proxyOp.channelId, from.proxyOp.isSend != 0};
      return true;
    case EventType::kProxyStep:
      to.step = {from.proxyStep.step};
      return true;
    default:
      break;
  }
  if constexpr (requires { from.kernelCh; }) {
    if (to.type == EventType::kKernelCh) {
      to.kernel = {0, from.kernelCh.channelId, 0};
      if constexpr (requires { from.kernelCh.pTimer; }) to.kernel.gpu_time = from.kernelCh.pTimer;
      return true;
    }
    if (to.type == EventType::kNetPlugin) {
      to.net = {from.netPlugin.id, from.netPlugin.data};
      return true;
    }
  }
  if constexpr (requires { from.groupApi; }) {
    switch (to.type) {
      case EventType::kGroupApi:
        to.api = {};
        to.api.root_or_depth = from.groupApi.groupDepth;
        to.api.captured = from.groupApi.graphCaptured;
        return true;
      case EventType::kCollApi:
        translate_call(from.collApi, to.api);
        return true;
      case EventType::kP2pApi:
        translate_call(from.p2pApi, to.api);
        return true;
      case EventType::kKernelLaunch:
        to.api = {};
        to.api.stream = address(from.kernelLaunch.stream);
        return true;
      default:
        break;
    }
  }
  if constexpr (requires { from.ceColl; }) {
    switch (to.type) {
      case EventType::kCeColl:
        translate_coll(from.ceColl, to.coll);
        return true;
      case EventType::kCeSync:
        to.copy_engine = {0, from.ceCollSync.nRanks, from.ceCollSync.isComplete};
        return true;
      case EventType::kCeBatch:
        to.copy_engine = {from.ceCollBatch.totalBytes, from.ceCollBatch.numOps,
                          from.ceCollBatch.useIntraSync};
        return true;
      default:
        break;
    }
  }
  if constexpr (requires { from.kernelPhase; }) {
    if (to.type == EventType::kKernelPhase) {
      to.kernel = {from.kernelPhase.pTimer, from.kernelPhase.channelId, from.kernelPhase.phaseId};
      return true;
    }
  }
  return false;
}

template <typename Descr>
[[gnu::always_inline]] inline bool translate(record::EventType type, void* context,
                                             const Descr& from, record::EventStart& to) noexcept {
  to.type = type;
  to.rank = from.rank;
  to.context = context;
  to.parent = from.parentObj;
  return translate_payload(from, to);
}

/// startEvent for the unusual cases. It is a function of its own, so that the usual case needs no
/// stack frame.
template <typename Descr>
[[gnu::noinline]] int start_in_full(void* context, void** handle, Descr* descr) noexcept {
  const record::EventType type = record::type_of_bit(descr->type);
  record::EventStart event;
  if (type == record::EventType::kUnknown || !translate(type, context, *descr, event)) {
    *handle = record::g_recorder.unknown_event();
    return 0;
  }
  *handle = record::g_recorder.start(event);
  if (record::can_have_range(type)) {
    record::g_recorder.begin_range(*handle, event);
  }
  return 0;
}

/// Translates the event a second time, when it is written to its record (record/recorder.h).
template <record::EventType kType, typename Descr>
struct ReadAgain {
  void* context;
  const Descr* descr;

  [[gnu::always_inline]] record::EventStart operator()() const noexcept {
    // This makes no instruction. It keeps the compiler from using what it read the first time, so
    // that nothing has to stay in registers until then.
    const Descr* from = descr;
    asm volatile("" : "+r"(from));
    record::EventStart event{};
    translate(kType, context, *from, event);
    return event;
  }
};

template <record::EventType kType, typename Descr>
int start_as(void* context, void** handle, Descr* descr) noexcept {
  // The event is cleared for compilers that do not see which part of it is read. The others store
  // nothing here.
  record::EventStart event{};
  const ReadAgain<kType, Descr> read_again{context, descr};
  const bool is_done = translate(kType, context, *descr, event) &&
                       record::g_recorder.quick_start(event, read_again, handle);
  return is_done ? 0 : start_in_full(context, handle, descr);
}

template <typename Descr, int... kTypes>
constexpr auto make_starters(std::integer_sequence<int, kTypes...> /*types*/) {
  return std::array{&start_as<static_cast<record::EventType>(kTypes), Descr>...};
}
template <typename Descr>
inline constexpr auto kStarters =
    make_starters<Descr>(std::make_integer_sequence<int, record::kEventTypes>());

template <typename Descr>
int start_event(void* context, void** handle, Descr* descr) noexcept {
  if (handle == nullptr || descr == nullptr) {
    return 0;
  }
  const record::EventType type = record::type_of_bit(descr->type);
  return type == record::EventType::kUnknown
             ? start_in_full(context, handle, descr)
             : kStarters<Descr>[static_cast<std::size_t>(type)](context, handle, descr);
}

[[gnu::noinline]] inline int stop_in_full(void* handle) noexcept {
  record::g_recorder.stop(handle);
  record::g_recorder.end_range(handle);
  return 0;
}

inline int stop_event(void* handle) noexcept {
  return record::g_recorder.quick_stop(handle) ? 0 : stop_in_full(handle);
}

[[gnu::noinline]] inline int state_in_full(void* handle, record::EventState state,
                                           std::uint64_t value, std::int32_t steps,
                                           bool args_null) noexcept {
  record::g_recorder.state(handle, state, value, steps, args_null);
  return 0;
}

/// recordEventState of every version. The state says which member of the arguments is valid.
template <typename Args>
int record_event_state(void* handle, int state, Args* args) noexcept {
  using record::EventState;
  const auto which = static_cast<EventState>(state);
  std::uint64_t value = 0;
  std::int32_t steps = 0;
  bool has_args = args != nullptr;
  if (has_args) {
    if (record::is_step_state(which)) {
      if constexpr (requires { args->proxyStep; }) {
        value = args->proxyStep.transSize;
      } else {
        has_args = false;  // up to version 3 a step has none
      }
    } else if (which <= EventState::kRecvDone) {
      if constexpr (requires { args->proxyOp; }) {
        value = args->proxyOp.transSize;
        steps = args->proxyOp.steps;
      }
    } else if (which <= EventState::kCtrlAppendEnd) {
      value =
          static_cast<std::uint64_t>(static_cast<std::int64_t>(args->proxyCtrl.appendedProxyOps));
    } else if (which == EventState::kKernelChStop || which == EventState::kKernelPhaseStop) {
      if constexpr (requires { args->kernelCh; }) value = args->kernelCh.pTimer;
    }
  }
  return record::g_recorder.quick_state(handle, which, value, steps, !has_args)
             ? 0
             : state_in_full(handle, which, value, steps, !has_args);
}

}  // namespace ringside::abi

#endif  // RINGSIDE_PLUGIN_ABI_TRANSLATE_H
