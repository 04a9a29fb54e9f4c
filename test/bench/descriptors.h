// SPDX-License-Identifier: Apache-2.0
//
// Descriptors as NCCL fills them, for every version of the interface: the kinds of events that are
// measured, and what each needs.
#ifndef RINGSIDE_TEST_BENCH_DESCRIPTORS_H
#define RINGSIDE_TEST_BENCH_DESCRIPTORS_H

#include <array>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <unistd.h>

#include "plugin/abi/versions.h"
#include "test/abi/event_types.h"

namespace ringside::bench {

struct Kind {
  const char* name;
  std::uint32_t type;
  std::uint32_t parent;  ///< type of the parent; 0: none
  int state;             ///< a state that NCCL reports of it; -1: none
};

inline constexpr std::array<Kind, 16> kKinds = {{
    {"Group", abi::kGroup, 0, -1},
    {"Coll", abi::kColl, abi::kGroup, -1},
    {"P2p", abi::kP2p, abi::kGroup, -1},
    {"ProxyOp", abi::kProxyOp, abi::kColl, abi::kProxyOpInProgress},
    {"ProxyStep", abi::kProxyStep, abi::kProxyOp, abi::kProxyStepSendWait},
    {"ProxyCtrl", abi::kProxyCtrl, 0, abi::kProxyCtrlAppend},
    {"KernelCh", abi::kKernelCh, abi::kColl, abi::kKernelChStop},
    {"GroupApi", abi::kGroupApi, 0, abi::kGroupStartApiStop},
    {"CollApi", abi::kCollApi, abi::kGroupApi, -1},
    {"P2pApi", abi::kP2pApi, abi::kGroupApi, -1},
    {"KernelLaunch", abi::kKernelLaunch, abi::kGroupApi, -1},
    {"CeColl", abi::kCeColl, abi::kCollApi, -1},
    {"NetPlugin", abi::kNetPlugin, abi::kProxyStep, -1},
    {"CeSync", abi::kCeSync, abi::kCeColl, -1},
    {"CeBatch", abi::kCeBatch, abi::kCeColl, -1},
    {"KernelPhase", abi::kKernelPhase, abi::kKernelCh, abi::kKernelPhaseStop},
}};

inline const Kind& kind_of(std::uint32_t type) {
  for (const Kind& kind : kKinds) {
    if (kind.type == type) {
      return kind;
    }
  }
  return kKinds[0];
}

/// The parent's type in this version: collectives hang on their API call from version 5 on.
inline std::uint32_t parent_type(const Kind& kind, int version) {
  if (version >= 5 && kind.type == abi::kColl) {
    return abi::kCollApi;
  }
  if (version >= 5 && kind.type == abi::kP2p) {
    return abi::kP2pApi;
  }
  return kind.parent;
}

/// Memory for a descriptor, and for the arguments of a state, of any version.
struct alignas(16) Descriptor {
  std::array<unsigned char, 160> bytes;
};
struct alignas(16) StateArgs {
  std::array<unsigned char, 16> bytes;
};

#define RINGSIDE_SET(field, value) \
  if constexpr (requires { to.field; }) to.field = static_cast<decltype(to.field)>(value)
#define RINGSIDE_SET_NAME(field, text, number)                                 \
  if constexpr (requires { to.field; }) {                                      \
    if constexpr (std::is_pointer_v<decltype(to.field)>) to.field = (text);    \
    if constexpr (!std::is_pointer_v<decltype(to.field)>) to.field = (number); \
  }

template <class Coll>
void fill_coll(Coll& to, void* group) {
  RINGSIDE_SET(name, "bench");
  RINGSIDE_SET(commHash, 0x5EEDC0DE12345678U);
  RINGSIDE_SET(seqNumber, 7);
  RINGSIDE_SET_NAME(func, "AllReduce", 4);
  RINGSIDE_SET(count, 1 << 20);
  RINGSIDE_SET(root, 0);
  RINGSIDE_SET(peer, 1);
  RINGSIDE_SET_NAME(datatype, "ncclFloat32", 7);
  RINGSIDE_SET(trafficBytes, 8 << 20);
  RINGSIDE_SET(nMaxChannels, 16);
  RINGSIDE_SET(nChannels, 16);
  RINGSIDE_SET(nWarps, 16);
  RINGSIDE_SET_NAME(algo, "RING", 1);
  RINGSIDE_SET_NAME(proto, "SIMPLE", 2);
  RINGSIDE_SET(syncStrategy, "MC");
  RINGSIDE_SET(parentGroup, group);
}

template <class Descr>
void fill(Descr& to, const Kind& kind, void* parent, int rank) {
  std::memset(&to, 0, sizeof to);
  to.type = static_cast<decltype(to.type)>(kind.type);
  to.parentObj = parent;
  to.rank = rank;
  switch (kind.type) {
    case abi::kColl:
      fill_coll(to.coll, nullptr);
      return;
    case abi::kP2p:
      fill_coll(to.p2p, nullptr);
      RINGSIDE_SET_NAME(p2p.func, "Send", 6);
      return;
    case abi::kProxyOp:
      to.proxyOp = {getpid(), 3, 1, 8, 1 << 19, 1};
      return;
    case abi::kProxyStep:
      to.proxyStep.step = 2;
      return;
    default:
      break;
  }
  if constexpr (requires { to.kernelCh; }) {
    if (kind.type == abi::kKernelCh) {
      to.kernelCh.channelId = 3;
      RINGSIDE_SET(kernelCh.pTimer, 1'000'000'000);
    }
  }
  if constexpr (requires { to.netPlugin; }) {
    if (kind.type == abi::kNetPlugin) {
      // NCCL's IB transport gives these in its first version: device, work request, queue pair, ...
      static std::array<std::int64_t, 5> data = {0, 1, 2, 3, 1 << 19};
      to.netPlugin = {0x10001, data.data()};
    }
  }
  if constexpr (requires { to.collApi; }) {
    if (kind.type == abi::kCollApi) {
      to.collApi.func = "AllReduce";
      to.collApi.count = 1 << 20;
      to.collApi.datatype = "ncclFloat32";
    } else if (kind.type == abi::kP2pApi) {
      to.p2pApi.func = "Send";
      to.p2pApi.count = 1 << 20;
      to.p2pApi.datatype = "ncclFloat32";
    }
  }
  if constexpr (requires { to.ceColl; }) {
    if (kind.type == abi::kCeColl) {
      fill_coll(to.ceColl, nullptr);
    }
  }
  if constexpr (requires { to.kernelPhase; }) {
    if (kind.type == abi::kKernelPhase) {
      to.kernelPhase = {3, 1, "phase", 1'000'000'000};
    }
  }
}

#undef RINGSIDE_SET
#undef RINGSIDE_SET_NAME

template <class Descr>
Descriptor make(const Kind& kind, void* parent, int rank) {
  Descriptor out{};
  Descr descr;
  fill(descr, kind, parent, rank);
  static_assert(sizeof descr <= sizeof out);
  std::memcpy(&out, &descr, sizeof descr);
  return out;
}

inline Descriptor make_descriptor(int version, const Kind& kind, void* parent) {
  switch (version) {
    case 1:
      return make<abi::v1::EventDescr>(kind, parent, 0);
    case 2:
      return make<abi::v2::EventDescr>(kind, parent, 0);
    case 3:
      return make<abi::v3::EventDescr>(kind, parent, 0);
    case 4:
      return make<abi::v4::EventDescr>(kind, parent, 0);
    case 5:
      return make<abi::v5::EventDescr>(kind, parent, 0);
    case 6:
      return make<abi::v6::EventDescr>(kind, parent, 0);
    default:
      return make<abi::v7::EventDescr>(kind, parent, 0);
  }
}

inline bool has_kind(int version, const Kind& kind) {
  return (abi::valid_event_mask(version) & kind.type) != 0;
}

/// A state that this version has for the kind, or -1.
inline int state_of(int version, const Kind& kind) {
  if (version <= 3 && kind.type == abi::kProxyOp) {
    return abi::kProxyOpSendTransmitted;
  }
  return version <= 3 && kind.state >= abi::kProxyOpInProgress ? -1 : kind.state;
}

}  // namespace ringside::bench

#endif  // RINGSIDE_TEST_BENCH_DESCRIPTORS_H
