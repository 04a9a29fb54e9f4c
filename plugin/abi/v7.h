// SPDX-License-Identifier: Apache-2.0
//
// Version 7 of NCCL's profiler interface: NCCL 2.31 (native): user tags, kernel variants and kernel
// phases are new. Taken from the header's text; no recording of it exists yet.
#ifndef RINGSIDE_PLUGIN_ABI_V7_H
#define RINGSIDE_PLUGIN_ABI_V7_H

#include <cstddef>
#include <cstdint>

#include "plugin/abi/logger.h"

namespace ringside::abi::v7 {

// NOLINTBEGIN(readability-identifier-naming): the fields keep NCCL's names.

struct EventDescr {
  std::uint64_t type;
  void* parentObj;
  int rank;
  union {
    struct {
      bool graphCaptured;
      int groupDepth;
    } groupApi;
    struct {
      const char* func;
      std::size_t count;
      const char* datatype;
      int root;
      void* stream;
      bool graphCaptured;
      std::uint64_t userTag;
    } collApi;
    struct {
      const char* func;
      std::size_t count;
      const char* datatype;
      void* stream;
      bool graphCaptured;
      std::uint64_t userTag;
    } p2pApi;
    struct {
      void* stream;
    } kernelLaunch;
    struct {
      std::uint64_t seqNumber;
      const char* func;
      const void* sendBuff;
      void* recvBuff;
      std::size_t count;
      int root;
      const char* datatype;
      std::uint8_t nChannels;
      std::uint8_t nWarps;
      const char* algo;
      const char* proto;
      void* parentGroup;
      const char* kernelVariant;
      bool isSymColl;
      std::uint64_t userTag;
    } coll;
    struct {
      const char* func;
      void* buff;
      const char* datatype;
      std::size_t count;
      int peer;
      std::uint8_t nChannels;
      void* parentGroup;
      std::uint64_t userTag;
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
    struct {
      std::uint8_t channelId;
      std::uint64_t pTimer;
    } kernelCh;
    struct {
      std::int64_t id;
      void* data;
    } netPlugin;
    struct {
      std::uint64_t seqNumber;
      const char* func;
      const void* sendBuff;
      void* recvBuff;
      std::size_t count;
      int root;
      const char* datatype;
      const char* syncStrategy;
      bool intraBatchSync;
      std::uint32_t batchSize;
      std::uint32_t numBatches;
      std::uint32_t ceSeqNum;
      void* stream;
      std::uint64_t userTag;
    } ceColl;
    struct {
      bool isComplete;
      int nRanks;
    } ceCollSync;
    struct {
      int numOps;
      std::size_t totalBytes;
      bool useIntraSync;
    } ceCollBatch;
    struct {
      std::uint8_t channelId;
      std::uint8_t phaseId;
      const char* phaseName;
      std::uint64_t pTimer;
    } kernelPhase;
  };
};

struct EventStateArgs {
  union {
    struct {
      std::size_t transSize;
    } proxyStep;
    struct {
      int appendedProxyOps;
    } proxyCtrl;
    struct {
      void* data;
    } netPlugin;
    struct {
      std::uint64_t pTimer;
    } kernelCh;
  };
};

// Functions return an ncclResult_t, an enum as wide as int; 0 is success.
struct Profiler {
  const char* name;
  int (*init)(void** context, std::uint64_t commId, int* eActivationMask, const char* commName,
              int nNodes, int nranks, int rank, Logger logger);
  int (*startEvent)(void* context, void** eHandle, EventDescr* eDescr);
  int (*stopEvent)(void* eHandle);
  int (*recordEventState)(void* eHandle, int eState, EventStateArgs* eStateArgs);
  int (*finalize)(void* context);
};

// NOLINTEND(readability-identifier-naming)

#define RINGSIDE_ABI_FIELD(type, field, offset, size) \
  static_assert(offsetof(type, field) == (offset) && sizeof(type::field) == (size))

static_assert(sizeof(EventDescr) == 136);
RINGSIDE_ABI_FIELD(EventDescr, type, 0, 8);
RINGSIDE_ABI_FIELD(EventDescr, parentObj, 8, 8);
RINGSIDE_ABI_FIELD(EventDescr, rank, 16, 4);
RINGSIDE_ABI_FIELD(EventDescr, groupApi.graphCaptured, 24, 1);
RINGSIDE_ABI_FIELD(EventDescr, groupApi.groupDepth, 28, 4);
RINGSIDE_ABI_FIELD(EventDescr, collApi.func, 24, 8);
RINGSIDE_ABI_FIELD(EventDescr, collApi.count, 32, 8);
RINGSIDE_ABI_FIELD(EventDescr, collApi.datatype, 40, 8);
RINGSIDE_ABI_FIELD(EventDescr, collApi.root, 48, 4);
RINGSIDE_ABI_FIELD(EventDescr, collApi.stream, 56, 8);
RINGSIDE_ABI_FIELD(EventDescr, collApi.graphCaptured, 64, 1);
RINGSIDE_ABI_FIELD(EventDescr, collApi.userTag, 72, 8);
RINGSIDE_ABI_FIELD(EventDescr, p2pApi.func, 24, 8);
RINGSIDE_ABI_FIELD(EventDescr, p2pApi.count, 32, 8);
RINGSIDE_ABI_FIELD(EventDescr, p2pApi.datatype, 40, 8);
RINGSIDE_ABI_FIELD(EventDescr, p2pApi.stream, 48, 8);
RINGSIDE_ABI_FIELD(EventDescr, p2pApi.graphCaptured, 56, 1);
RINGSIDE_ABI_FIELD(EventDescr, p2pApi.userTag, 64, 8);
RINGSIDE_ABI_FIELD(EventDescr, kernelLaunch.stream, 24, 8);
RINGSIDE_ABI_FIELD(EventDescr, coll.seqNumber, 24, 8);
RINGSIDE_ABI_FIELD(EventDescr, coll.func, 32, 8);
RINGSIDE_ABI_FIELD(EventDescr, coll.sendBuff, 40, 8);
RINGSIDE_ABI_FIELD(EventDescr, coll.recvBuff, 48, 8);
RINGSIDE_ABI_FIELD(EventDescr, coll.count, 56, 8);
RINGSIDE_ABI_FIELD(EventDescr, coll.root, 64, 4);
RINGSIDE_ABI_FIELD(EventDescr, coll.datatype, 72, 8);
RINGSIDE_ABI_FIELD(EventDescr, coll.nChannels, 80, 1);
RINGSIDE_ABI_FIELD(EventDescr, coll.nWarps, 81, 1);
RINGSIDE_ABI_FIELD(EventDescr, coll.algo, 88, 8);
RINGSIDE_ABI_FIELD(EventDescr, coll.proto, 96, 8);
RINGSIDE_ABI_FIELD(EventDescr, coll.parentGroup, 104, 8);
RINGSIDE_ABI_FIELD(EventDescr, coll.kernelVariant, 112, 8);
RINGSIDE_ABI_FIELD(EventDescr, coll.isSymColl, 120, 1);
RINGSIDE_ABI_FIELD(EventDescr, coll.userTag, 128, 8);
RINGSIDE_ABI_FIELD(EventDescr, p2p.func, 24, 8);
RINGSIDE_ABI_FIELD(EventDescr, p2p.buff, 32, 8);
RINGSIDE_ABI_FIELD(EventDescr, p2p.datatype, 40, 8);
RINGSIDE_ABI_FIELD(EventDescr, p2p.count, 48, 8);
RINGSIDE_ABI_FIELD(EventDescr, p2p.peer, 56, 4);
RINGSIDE_ABI_FIELD(EventDescr, p2p.nChannels, 60, 1);
RINGSIDE_ABI_FIELD(EventDescr, p2p.parentGroup, 64, 8);
RINGSIDE_ABI_FIELD(EventDescr, p2p.userTag, 72, 8);
RINGSIDE_ABI_FIELD(EventDescr, proxyOp.pid, 24, 4);
RINGSIDE_ABI_FIELD(EventDescr, proxyOp.channelId, 28, 1);
RINGSIDE_ABI_FIELD(EventDescr, proxyOp.peer, 32, 4);
RINGSIDE_ABI_FIELD(EventDescr, proxyOp.nSteps, 36, 4);
RINGSIDE_ABI_FIELD(EventDescr, proxyOp.chunkSize, 40, 4);
RINGSIDE_ABI_FIELD(EventDescr, proxyOp.isSend, 44, 4);
RINGSIDE_ABI_FIELD(EventDescr, proxyStep.step, 24, 4);
RINGSIDE_ABI_FIELD(EventDescr, kernelCh.channelId, 24, 1);
RINGSIDE_ABI_FIELD(EventDescr, kernelCh.pTimer, 32, 8);
RINGSIDE_ABI_FIELD(EventDescr, netPlugin.id, 24, 8);
RINGSIDE_ABI_FIELD(EventDescr, netPlugin.data, 32, 8);
RINGSIDE_ABI_FIELD(EventDescr, ceColl.seqNumber, 24, 8);
RINGSIDE_ABI_FIELD(EventDescr, ceColl.func, 32, 8);
RINGSIDE_ABI_FIELD(EventDescr, ceColl.sendBuff, 40, 8);
RINGSIDE_ABI_FIELD(EventDescr, ceColl.recvBuff, 48, 8);
RINGSIDE_ABI_FIELD(EventDescr, ceColl.count, 56, 8);
RINGSIDE_ABI_FIELD(EventDescr, ceColl.root, 64, 4);
RINGSIDE_ABI_FIELD(EventDescr, ceColl.datatype, 72, 8);
RINGSIDE_ABI_FIELD(EventDescr, ceColl.syncStrategy, 80, 8);
RINGSIDE_ABI_FIELD(EventDescr, ceColl.intraBatchSync, 88, 1);
RINGSIDE_ABI_FIELD(EventDescr, ceColl.batchSize, 92, 4);
RINGSIDE_ABI_FIELD(EventDescr, ceColl.numBatches, 96, 4);
RINGSIDE_ABI_FIELD(EventDescr, ceColl.ceSeqNum, 100, 4);
RINGSIDE_ABI_FIELD(EventDescr, ceColl.stream, 104, 8);
RINGSIDE_ABI_FIELD(EventDescr, ceColl.userTag, 112, 8);
RINGSIDE_ABI_FIELD(EventDescr, ceCollSync.isComplete, 24, 1);
RINGSIDE_ABI_FIELD(EventDescr, ceCollSync.nRanks, 28, 4);
RINGSIDE_ABI_FIELD(EventDescr, ceCollBatch.numOps, 24, 4);
RINGSIDE_ABI_FIELD(EventDescr, ceCollBatch.totalBytes, 32, 8);
RINGSIDE_ABI_FIELD(EventDescr, ceCollBatch.useIntraSync, 40, 1);
RINGSIDE_ABI_FIELD(EventDescr, kernelPhase.channelId, 24, 1);
RINGSIDE_ABI_FIELD(EventDescr, kernelPhase.phaseId, 25, 1);
RINGSIDE_ABI_FIELD(EventDescr, kernelPhase.phaseName, 32, 8);
RINGSIDE_ABI_FIELD(EventDescr, kernelPhase.pTimer, 40, 8);

static_assert(sizeof(EventStateArgs) == 8);
RINGSIDE_ABI_FIELD(EventStateArgs, proxyStep.transSize, 0, 8);
RINGSIDE_ABI_FIELD(EventStateArgs, proxyCtrl.appendedProxyOps, 0, 4);
RINGSIDE_ABI_FIELD(EventStateArgs, netPlugin.data, 0, 8);
RINGSIDE_ABI_FIELD(EventStateArgs, kernelCh.pTimer, 0, 8);

static_assert(sizeof(Profiler) == 48);
RINGSIDE_ABI_FIELD(Profiler, name, 0, 8);
RINGSIDE_ABI_FIELD(Profiler, init, 8, 8);
RINGSIDE_ABI_FIELD(Profiler, startEvent, 16, 8);
RINGSIDE_ABI_FIELD(Profiler, stopEvent, 24, 8);
RINGSIDE_ABI_FIELD(Profiler, recordEventState, 32, 8);
RINGSIDE_ABI_FIELD(Profiler, finalize, 40, 8);

#undef RINGSIDE_ABI_FIELD

}  // namespace ringside::abi::v7

#endif  // RINGSIDE_PLUGIN_ABI_V7_H
