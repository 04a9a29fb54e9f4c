// SPDX-License-Identifier: Apache-2.0
//
// NCCL's profiler interface, versions 1 to 7, as NCCL's headers lay it out. Most members of a
// descriptor are the same in several versions, so each form is declared once and named after the
// first version that has it. A form that only has further members at its end is derived from the
// one before. `test/abi` compares the place, size and type of every member with NCCL's own headers.
#ifndef RINGSIDE_PLUGIN_ABI_DESCRIPTORS_H
#define RINGSIDE_PLUGIN_ABI_DESCRIPTORS_H

#include <cstddef>
#include <cstdint>

#include "plugin/record/host_side.h"

namespace ringside::abi {

// NOLINTBEGIN(readability-identifier-naming): the fields keep NCCL's names.

/// Functions, datatypes, algorithms and protocols are numbers of NCCL's enumerations.
struct CollV1 {
  const char* name;
  std::uint64_t commHash;
  std::uint64_t seqNumber;
  std::uint8_t func;
  const void* sendBuff;
  void* recvBuff;
  std::size_t count;
  int root;
  std::uint8_t datatype;
  std::uint32_t op;
  std::size_t trafficBytes;
  std::uint8_t nMaxChannels;
  std::uint8_t nWarps;
  std::uint8_t algo;
  std::uint8_t proto;
  int isCollnet;
  int isNvls;
};

struct CollV2 {
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
};

struct CollV3 {
  const char* name;
  std::uint64_t commHash;
  std::uint64_t seqNumber;
  const char* func;
  const void* sendBuff;
  void* recvBuff;
  std::size_t count;
  int root;
  const char* datatype;
  std::uint8_t nMaxChannels;
  std::uint8_t nWarps;
  const char* algo;
  const char* proto;
};

struct CollV4 {
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
};

struct CollV5 : CollV4 {
  void* parentGroup;
};

struct CollV7 : CollV5 {
  const char* kernelVariant;
  bool isSymColl;
  std::uint64_t userTag;
};

struct P2pV1 {
  const char* name;
  std::uint64_t commHash;
  std::uint8_t func;
  void* buff;
  std::uint8_t datatype;
  std::size_t count;
  int peer;
};

struct P2pV2 {
  const char* name;
  std::uint64_t commHash;
  const char* func;
  void* buff;
  const char* datatype;
  std::size_t count;
  int peer;
};

struct P2pV4 {
  const char* func;
  void* buff;
  const char* datatype;
  std::size_t count;
  int peer;
  std::uint8_t nChannels;
};

struct P2pV5 : P2pV4 {
  void* parentGroup;
};

struct P2pV7 : P2pV5 {
  std::uint64_t userTag;
};

struct ProxyOp {
  int pid;
  std::uint8_t channelId;
  int peer;
  int nSteps;
  int chunkSize;
  int isSend;
};

struct ProxyStep {
  int step;
};

struct KernelChV3 {
  std::uint8_t channelId;
};

struct KernelChV4 : KernelChV3 {
  std::uint64_t pTimer;
};

struct NetPlugin {
  std::int64_t id;
  void* data;
};

struct GroupApi {
  bool graphCaptured;
  int groupDepth;
};

struct CollApiV5 {
  const char* func;
  std::size_t count;
  const char* datatype;
  int root;
  void* stream;
  bool graphCaptured;
};

struct CollApiV7 : CollApiV5 {
  std::uint64_t userTag;
};

struct P2pApiV5 {
  const char* func;
  std::size_t count;
  const char* datatype;
  void* stream;
  bool graphCaptured;
};

struct P2pApiV7 : P2pApiV5 {
  std::uint64_t userTag;
};

struct KernelLaunch {
  void* stream;
};

struct CeCollV6 {
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
};

struct CeCollV7 : CeCollV6 {
  std::uint64_t userTag;
};

struct CeSync {
  bool isComplete;
  int nRanks;
};

struct CeBatch {
  int numOps;
  std::size_t totalBytes;
  bool useIntraSync;
};

struct KernelPhase {
  std::uint8_t channelId;
  std::uint8_t phaseId;
  const char* phaseName;
  std::uint64_t pTimer;
};

/// The arguments of recordEventState, versions 1 to 3.
struct EventStateArgsV1 {
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

/// The arguments of recordEventState, versions 4 to 7.
struct EventStateArgsV4 {
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

using InitV1 = int (*)(void** context, int* eActivationMask);
using InitV4 = int (*)(void** context, int* eActivationMask, const char* commName,
                       std::uint64_t commHash, int nNodes, int nranks, int rank,
                       record::NcclLogger logger);
using InitV5 = int (*)(void** context, std::uint64_t commId, int* eActivationMask,
                       const char* commName, int nNodes, int nranks, int rank,
                       record::NcclLogger logger);

/// The table that a plugin exports. Its functions return an ncclResult_t, an enumeration as wide as
/// int; 0 is success.
template <typename Init, typename Descr, typename Args>
struct ProfilerTable {
  const char* name;
  Init init;
  int (*startEvent)(void* context, void** eHandle, Descr* eDescr);
  int (*stopEvent)(void* eHandle);
  int (*recordEventState)(void* eHandle, int eState, Args* eStateArgs);
  int (*finalize)(void* context);
};

// NOLINTEND(readability-identifier-naming)

}  // namespace ringside::abi

#endif  // RINGSIDE_PLUGIN_ABI_DESCRIPTORS_H
