// SPDX-License-Identifier: Apache-2.0
//
// From a version's descriptor to the one internal form. The versions differ in which fields they
// have and in where these lie, hardly in what they mean; so this asks each descriptor for the
// fields it has. What is special to a version is in its own file.
#ifndef RINGSIDE_PLUGIN_ABI_TRANSLATE_H
#define RINGSIDE_PLUGIN_ABI_TRANSLATE_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "plugin/abi/numeric_names.h"
#include "plugin/record/event_start.h"
#include "plugin/record/recorder.h"

namespace ringside::abi {

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

template <record::EventType kType, typename Descr>
[[gnu::always_inline]] inline bool translate(void* context, const Descr& descr,
                                             record::EventStart& event) noexcept {
  event.type = kType;
  event.rank = descr.rank;
  event.context = context;
  event.parent = descr.parentObj;
  return translate_payload(descr, event);
}

/// start_as where somebody shows ranges. A function of its own, entered before anything else is
/// done, so that the usual way stays as it is without ranges.
template <record::EventType kType, typename Descr>
[[gnu::noinline]] void* start_with_range(void* context, const Descr& descr) noexcept {
  record::EventStart event;
  if (!translate<kType>(context, descr, event)) {
    return record::g_recorder.unknown_event();
  }
  void* const handle = record::g_recorder.start(event);
  record::g_recorder.begin_range(handle, event);
  return handle;
}

/// startEvent of one type in one version: with the type known to the compiler, everything from the
/// descriptor to the slot stays in registers.
template <record::EventType kType, typename Descr>
void* start_as(void* context, const Descr& descr) noexcept {
  if constexpr (record::can_have_range(kType)) {
    if (record::g_recorder.has_range_hooks()) [[unlikely]] {
      return start_with_range<kType>(context, descr);
    }
  }
  record::EventStart event;
  return translate<kType>(context, descr, event) ? record::g_recorder.start(event)
                                                 : record::g_recorder.unknown_event();
}

template <typename Descr, int... kTypes>
constexpr auto make_starters(std::integer_sequence<int, kTypes...> /*types*/) {
  return std::array{&start_as<static_cast<record::EventType>(kTypes), Descr>...};
}
template <typename Descr>
inline constexpr auto kStarters =
    make_starters<Descr>(std::make_integer_sequence<int, record::kEventTypes>());

/// startEvent of every version.
template <typename Descr>
int start_event(void* context, void** handle, Descr* descr) noexcept {
  if (handle == nullptr || descr == nullptr) {
    return 0;
  }
  const record::EventType type = record::type_of_bit(descr->type);
  *handle = type == record::EventType::kUnknown
                ? record::g_recorder.unknown_event()
                : kStarters<Descr>[static_cast<std::size_t>(type)](context, *descr);
  return 0;
}

[[gnu::noinline]] inline int stop_with_range(void* handle) noexcept {
  if (handle != nullptr) {
    record::g_recorder.stop(handle);
    record::g_recorder.end_range(handle);
  }
  return 0;
}

inline int stop_event(void* handle) noexcept {
  if (record::g_recorder.has_range_hooks()) [[unlikely]] {
    return stop_with_range(handle);
  }
  if (handle != nullptr) {
    record::g_recorder.stop(handle);
  }
  return 0;
}

/// recordEventState of every version: which member of the arguments is meant follows from the
/// state.
template <typename Args>
int record_event_state(void* handle, int state, Args* args) noexcept {
  using record::EventState;
  if (handle == nullptr) {
    return 0;
  }
  const auto which = static_cast<EventState>(state);
  std::uint64_t value = 0;
  std::int32_t steps = 0;
  if (args != nullptr) {
    // NOLINTBEGIN(bugprone-branch-clone): alike only where a version lacks the member.
    switch (which) {
      case EventState::kCtrlIdle:
      case EventState::kCtrlActive:
      case EventState::kCtrlSleep:
      case EventState::kCtrlWakeup:
      case EventState::kCtrlAppend:
      case EventState::kCtrlAppendEnd:
        value =
            static_cast<std::uint64_t>(static_cast<std::int64_t>(args->proxyCtrl.appendedProxyOps));
        break;
      case EventState::kSendPosted:
      case EventState::kSendRemFifoWait:
      case EventState::kSendTransmitted:
      case EventState::kSendDone:
      case EventState::kRecvPosted:
      case EventState::kRecvReceived:
      case EventState::kRecvTransmitted:
      case EventState::kRecvDone:
        if constexpr (requires { args->proxyOp; }) {
          value = args->proxyOp.transSize;
          steps = args->proxyOp.steps;
        }
        break;
      case EventState::kStepSendGpuWait:
      case EventState::kStepSendPeerWait:
      case EventState::kStepSendWait:
      case EventState::kStepRecvWait:
      case EventState::kStepRecvFlushWait:
      case EventState::kStepRecvGpuWait:
        if constexpr (requires { args->proxyStep; }) value = args->proxyStep.transSize;
        break;
      case EventState::kKernelChStop:
      case EventState::kKernelPhaseStop:
        if constexpr (requires { args->kernelCh; }) value = args->kernelCh.pTimer;
        break;
      default:
        break;
    }
    // NOLINTEND(bugprone-branch-clone)
  }
  record::g_recorder.state(handle, which, value, steps, args == nullptr);
  return 0;
}

}  // namespace ringside::abi

#endif  // RINGSIDE_PLUGIN_ABI_TRANSLATE_H
