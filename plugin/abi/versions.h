// SPDX-License-Identifier: Apache-2.0
//
// The versions of NCCL's profiler interface: what the descriptor of each has in its union, and
// which arguments and which init go with it.
#ifndef RINGSIDE_PLUGIN_ABI_VERSIONS_H
#define RINGSIDE_PLUGIN_ABI_VERSIONS_H

#include <cstdint>

#include "plugin/abi/descriptors.h"

namespace ringside::abi {

// NOLINTBEGIN(readability-identifier-naming): the fields keep NCCL's names.

/// NCCL 2.23 (native). Every later release serves this version through an adapter.
namespace v1 {
struct EventDescr {
  std::uint8_t type;
  void* parentObj;
  int rank;
  union {
    CollV1 coll;
    P2pV1 p2p;
    ProxyOp proxyOp;
    ProxyStep proxyStep;
  };
};
using EventStateArgs = EventStateArgsV1;
using Profiler = ProfilerTable<InitV1, EventDescr, EventStateArgs>;
static_assert(sizeof(EventDescr) == 120);
}  // namespace v1

/// NCCL 2.24 and 2.25 (native): names in place of numbers. Later releases fill commHash, name and
/// trafficBytes with zeros. NCCL 2.26.2 to 2.26.5 pass a descriptor of version 3, so everything
/// after datatype is at the wrong place.
namespace v2 {
struct EventDescr {
  std::uint8_t type;
  void* parentObj;
  int rank;
  union {
    CollV2 coll;
    P2pV2 p2p;
    ProxyOp proxyOp;
    ProxyStep proxyStep;
  };
};
using EventStateArgs = EventStateArgsV1;
using Profiler = ProfilerTable<InitV1, EventDescr, EventStateArgs>;
static_assert(sizeof(EventDescr) == 128);
}  // namespace v2

/// NCCL 2.26 (native): trafficBytes is gone. Kernel channels and the network plugin's events are
/// new.
namespace v3 {
struct EventDescr {
  std::uint8_t type;
  void* parentObj;
  int rank;
  union {
    CollV3 coll;
    P2pV2 p2p;
    ProxyOp proxyOp;
    ProxyStep proxyStep;
    KernelChV3 kernelCh;
    NetPlugin netPlugin;
  };
};
using EventStateArgs = EventStateArgsV1;
using Profiler = ProfilerTable<InitV1, EventDescr, EventStateArgs>;
static_assert(sizeof(EventDescr) == 120);
}  // namespace v3

/// NCCL 2.27 (native): init says which communicator this is, and kernel channels carry GPU time
/// stamps.
namespace v4 {
struct EventDescr {
  std::uint8_t type;
  void* parentObj;
  int rank;
  union {
    CollV4 coll;
    P2pV4 p2p;
    ProxyOp proxyOp;
    ProxyStep proxyStep;
    KernelChV4 kernelCh;
    NetPlugin netPlugin;
  };
};
using EventStateArgs = EventStateArgsV4;
using Profiler = ProfilerTable<InitV4, EventDescr, EventStateArgs>;
static_assert(sizeof(EventDescr) == 104);
}  // namespace v4

/// NCCL 2.28 (native): type is 64 bits wide, and the API calls are events of their own.
namespace v5 {
struct EventDescr {
  std::uint64_t type;
  void* parentObj;
  int rank;
  union {
    GroupApi groupApi;
    CollApiV5 collApi;
    P2pApiV5 p2pApi;
    KernelLaunch kernelLaunch;
    CollV5 coll;
    P2pV5 p2p;
    ProxyOp proxyOp;
    ProxyStep proxyStep;
    KernelChV4 kernelCh;
    NetPlugin netPlugin;
  };
};
using EventStateArgs = EventStateArgsV4;
using Profiler = ProfilerTable<InitV5, EventDescr, EventStateArgs>;
static_assert(sizeof(EventDescr) == 112);
}  // namespace v5

/// NCCL 2.29 and 2.30 (native): copy-engine collectives are new. NCCL declares states for them and
/// sends none.
namespace v6 {
struct EventDescr {
  std::uint64_t type;
  void* parentObj;
  int rank;
  union {
    GroupApi groupApi;
    CollApiV5 collApi;
    P2pApiV5 p2pApi;
    KernelLaunch kernelLaunch;
    CollV5 coll;
    P2pV5 p2p;
    ProxyOp proxyOp;
    ProxyStep proxyStep;
    KernelChV4 kernelCh;
    NetPlugin netPlugin;
    CeCollV6 ceColl;
    CeSync ceCollSync;
    CeBatch ceCollBatch;
  };
};
using EventStateArgs = EventStateArgsV4;
using Profiler = ProfilerTable<InitV5, EventDescr, EventStateArgs>;
static_assert(sizeof(EventDescr) == 112);
}  // namespace v6

/// NCCL 2.31 (native): user tags, kernel variants and kernel phases are new. The last two come with
/// symmetric kernels only, of which there is no recording.
namespace v7 {
struct EventDescr {
  std::uint64_t type;
  void* parentObj;
  int rank;
  union {
    GroupApi groupApi;
    CollApiV7 collApi;
    P2pApiV7 p2pApi;
    KernelLaunch kernelLaunch;
    CollV7 coll;
    P2pV7 p2p;
    ProxyOp proxyOp;
    ProxyStep proxyStep;
    KernelChV4 kernelCh;
    NetPlugin netPlugin;
    CeCollV7 ceColl;
    CeSync ceCollSync;
    CeBatch ceCollBatch;
    KernelPhase kernelPhase;
  };
};
using EventStateArgs = EventStateArgsV4;
using Profiler = ProfilerTable<InitV5, EventDescr, EventStateArgs>;
static_assert(sizeof(EventDescr) == 136);
}  // namespace v7

// NOLINTEND(readability-identifier-naming)

}  // namespace ringside::abi

#endif  // RINGSIDE_PLUGIN_ABI_VERSIONS_H
