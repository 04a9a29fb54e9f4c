// SPDX-License-Identifier: Apache-2.0
//
// Version 2 of NCCL's profiler interface: NCCL 2.24 and 2.25 (native). Later releases fill
// commHash, name and trafficBytes with zeros, and 2.26.2 to 2.26.5 pass a version 3 descriptor, so
// everything after datatype is at the wrong place.
#ifndef RINGSIDE_PLUGIN_ABI_V2_H
#define RINGSIDE_PLUGIN_ABI_V2_H

#include <cstddef>
#include <cstdint>

namespace ringside::abi::v2 {

// NOLINTBEGIN(readability-identifier-naming): the fields keep NCCL's names.

struct EventDescr {
  std::uint8_t type;
  void* parentObj;
  int rank;
  union {
    struct {
      const char* name;
      std::uint64_t commHash;
      std::uint64_t seqNumber;
      const char* func;
      const void* sendBuff;
      void* recvBuff;
      std::size_t count;
      int root;
      const char* datatype;
      std::size_t trafficBytes;
      std::uint8_t nMaxChannels;
      std::uint8_t nWarps;
      const char* algo;
      const char* proto;
    } coll;
    struct {
      const char* name;
      std::uint64_t commHash;
      const char* func;
      void* buff;
      const char* datatype;
      std::size_t count;
      int peer;
    } p2p;
    struct {
      int pid;
      std::uint8_t channelId;
      int peer;
      int nSteps;
      int chunkSize;
      int isSend;
    } proxyOp;
    struct {
      int step;
    } proxyStep;
  };
};

struct EventStateArgs {
  union {
    struct {
      std::size_t transSize;
      int steps;
    } proxyOp;
    struct {
      int appendedProxyOps;
    } proxyCtrl;
  };
};

// Functions return an ncclResult_t, an enum as wide as int; 0 is success.
struct Profiler {
  const char* name;
  int (*init)(void** context, int* eActivationMask);
  int (*startEvent)(void* context, void** eHandle, EventDescr* eDescr);
  int (*stopEvent)(void* eHandle);
  int (*recordEventState)(void* eHandle, int eState, EventStateArgs* eStateArgs);
  int (*finalize)(void* context);
};

// NOLINTEND(readability-identifier-naming)

#define RINGSIDE_ABI_FIELD(type, field, offset, size) \
  static_assert(offsetof(type, field) == (offset) && sizeof(type::field) == (size))

static_assert(sizeof(EventDescr) == 128);
RINGSIDE_ABI_FIELD(EventDescr, type, 0, 1);
RINGSIDE_ABI_FIELD(EventDescr, parentObj, 8, 8);
RINGSIDE_ABI_FIELD(EventDescr, rank, 16, 4);
RINGSIDE_ABI_FIELD(EventDescr, coll.name, 24, 8);
RINGSIDE_ABI_FIELD(EventDescr, coll.commHash, 32, 8);
RINGSIDE_ABI_FIELD(EventDescr, coll.seqNumber, 40, 8);
RINGSIDE_ABI_FIELD(EventDescr, coll.func, 48, 8);
RINGSIDE_ABI_FIELD(EventDescr, coll.sendBuff, 56, 8);
RINGSIDE_ABI_FIELD(EventDescr, coll.recvBuff, 64, 8);
RINGSIDE_ABI_FIELD(EventDescr, coll.count, 72, 8);
RINGSIDE_ABI_FIELD(EventDescr, coll.root, 80, 4);
RINGSIDE_ABI_FIELD(EventDescr, coll.datatype, 88, 8);
RINGSIDE_ABI_FIELD(EventDescr, coll.trafficBytes, 96, 8);
RINGSIDE_ABI_FIELD(EventDescr, coll.nMaxChannels, 104, 1);
RINGSIDE_ABI_FIELD(EventDescr, coll.nWarps, 105, 1);
RINGSIDE_ABI_FIELD(EventDescr, coll.algo, 112, 8);
RINGSIDE_ABI_FIELD(EventDescr, coll.proto, 120, 8);
RINGSIDE_ABI_FIELD(EventDescr, p2p.name, 24, 8);
RINGSIDE_ABI_FIELD(EventDescr, p2p.commHash, 32, 8);
RINGSIDE_ABI_FIELD(EventDescr, p2p.func, 40, 8);
RINGSIDE_ABI_FIELD(EventDescr, p2p.buff, 48, 8);
RINGSIDE_ABI_FIELD(EventDescr, p2p.datatype, 56, 8);
RINGSIDE_ABI_FIELD(EventDescr, p2p.count, 64, 8);
RINGSIDE_ABI_FIELD(EventDescr, p2p.peer, 72, 4);
RINGSIDE_ABI_FIELD(EventDescr, proxyOp.pid, 24, 4);
RINGSIDE_ABI_FIELD(EventDescr, proxyOp.channelId, 28, 1);
RINGSIDE_ABI_FIELD(EventDescr, proxyOp.peer, 32, 4);
RINGSIDE_ABI_FIELD(EventDescr, proxyOp.nSteps, 36, 4);
RINGSIDE_ABI_FIELD(EventDescr, proxyOp.chunkSize, 40, 4);
RINGSIDE_ABI_FIELD(EventDescr, proxyOp.isSend, 44, 4);
RINGSIDE_ABI_FIELD(EventDescr, proxyStep.step, 24, 4);

static_assert(sizeof(EventStateArgs) == 16);
RINGSIDE_ABI_FIELD(EventStateArgs, proxyOp.transSize, 0, 8);
RINGSIDE_ABI_FIELD(EventStateArgs, proxyOp.steps, 8, 4);
RINGSIDE_ABI_FIELD(EventStateArgs, proxyCtrl.appendedProxyOps, 0, 4);

static_assert(sizeof(Profiler) == 48);
RINGSIDE_ABI_FIELD(Profiler, name, 0, 8);
RINGSIDE_ABI_FIELD(Profiler, init, 8, 8);
RINGSIDE_ABI_FIELD(Profiler, startEvent, 16, 8);
RINGSIDE_ABI_FIELD(Profiler, stopEvent, 24, 8);
RINGSIDE_ABI_FIELD(Profiler, recordEventState, 32, 8);
RINGSIDE_ABI_FIELD(Profiler, finalize, 40, 8);

#undef RINGSIDE_ABI_FIELD

}  // namespace ringside::abi::v2

#endif  // RINGSIDE_PLUGIN_ABI_V2_H
