// SPDX-License-Identifier: Apache-2.0
//
// Prints where every field of our declarations of NCCL's profiler interface lies, in the form of
// profiler-abi-layout.tsv, which a debugger made from NCCL's own headers. check_layout.py compares.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <type_traits>

#include "plugin/abi/versions.h"

namespace {

template <class T>
const char* type_name() {
  if constexpr (std::is_same_v<T, bool>) return "bool";
  if constexpr (std::is_same_v<T, int>) return "int";
  if constexpr (std::is_same_v<T, long>) return "long";
  if constexpr (std::is_same_v<T, unsigned char>) return "unsigned char";
  if constexpr (std::is_same_v<T, unsigned int>) return "unsigned int";
  if constexpr (std::is_same_v<T, unsigned long>) return "unsigned long";
  if constexpr (std::is_same_v<T, void*>) return "void *";
  if constexpr (std::is_same_v<T, const void*>) return "const void *";
  if constexpr (std::is_same_v<T, const char*>) return "const char *";
  if constexpr (std::is_function_v<std::remove_pointer_t<T>>) return "function pointer";
  return "?";
}

void print_row(int version, const char* type, const char* field, std::size_t offset,
               std::size_t size, const char* field_type) {
  std::printf("%d\t%s\t%s\t%zu\t%zu\t%s\n", version, type, field, offset, size, field_type);
}

// One list of fields serves all versions: a version prints those that it has.
#define ROW(field)                                                         \
  if constexpr (requires(T t) { t.field; }) {                              \
    print_row(version, type, #field, offsetof(T, field), sizeof(T::field), \
              type_name<decltype(T::field)>());                            \
  }

template <class T>
void print_event_descriptor(int version) {
  const char* type = "EventDescr";
  print_row(version, type, "sizeof", 0, sizeof(T), "-");
  ROW(type)
  ROW(parentObj)
  ROW(rank)
  ROW(coll.name)
  ROW(coll.commHash)
  ROW(coll.seqNumber)
  ROW(coll.func)
  ROW(coll.sendBuff)
  ROW(coll.recvBuff)
  ROW(coll.count)
  ROW(coll.root)
  ROW(coll.datatype)
  ROW(coll.op)
  ROW(coll.trafficBytes)
  ROW(coll.nMaxChannels)
  ROW(coll.nWarps)
  ROW(coll.algo)
  ROW(coll.proto)
  ROW(coll.isCollnet)
  ROW(coll.isNvls)
  ROW(coll.nChannels)
  ROW(coll.parentGroup)
  ROW(coll.kernelVariant)
  ROW(coll.isSymColl)
  ROW(coll.userTag)
  ROW(p2p.name)
  ROW(p2p.commHash)
  ROW(p2p.func)
  ROW(p2p.buff)
  ROW(p2p.datatype)
  ROW(p2p.count)
  ROW(p2p.peer)
  ROW(p2p.nChannels)
  ROW(p2p.parentGroup)
  ROW(p2p.userTag)
  ROW(proxyOp.pid)
  ROW(proxyOp.channelId)
  ROW(proxyOp.peer)
  ROW(proxyOp.nSteps)
  ROW(proxyOp.chunkSize)
  ROW(proxyOp.isSend)
  ROW(proxyStep.step)
  ROW(kernelCh.channelId)
  ROW(kernelCh.pTimer)
  ROW(netPlugin.id)
  ROW(netPlugin.data)
  ROW(groupApi.graphCaptured)
  ROW(groupApi.groupDepth)
  ROW(collApi.func)
  ROW(collApi.count)
  ROW(collApi.datatype)
  ROW(collApi.root)
  ROW(collApi.stream)
  ROW(collApi.graphCaptured)
  ROW(collApi.userTag)
  ROW(p2pApi.func)
  ROW(p2pApi.count)
  ROW(p2pApi.datatype)
  ROW(p2pApi.stream)
  ROW(p2pApi.graphCaptured)
  ROW(p2pApi.userTag)
  ROW(kernelLaunch.stream)
  ROW(ceColl.seqNumber)
  ROW(ceColl.func)
  ROW(ceColl.sendBuff)
  ROW(ceColl.recvBuff)
  ROW(ceColl.count)
  ROW(ceColl.root)
  ROW(ceColl.datatype)
  ROW(ceColl.syncStrategy)
  ROW(ceColl.intraBatchSync)
  ROW(ceColl.batchSize)
  ROW(ceColl.numBatches)
  ROW(ceColl.ceSeqNum)
  ROW(ceColl.stream)
  ROW(ceColl.userTag)
  ROW(ceCollSync.isComplete)
  ROW(ceCollSync.nRanks)
  ROW(ceCollBatch.numOps)
  ROW(ceCollBatch.totalBytes)
  ROW(ceCollBatch.useIntraSync)
  ROW(kernelPhase.channelId)
  ROW(kernelPhase.phaseId)
  ROW(kernelPhase.phaseName)
  ROW(kernelPhase.pTimer)
}

template <class T>
void print_state_arguments(int version) {
  const char* type = "EventStateArgs";
  print_row(version, type, "sizeof", 0, sizeof(T), "-");
  ROW(proxyOp.transSize)
  ROW(proxyOp.steps)
  ROW(proxyCtrl.appendedProxyOps)
  ROW(proxyStep.transSize)
  ROW(netPlugin.data)
  ROW(kernelCh.pTimer)
}

template <class T>
void print_profiler(int version) {
  const char* type = "Profiler";
  print_row(version, type, "sizeof", 0, sizeof(T), "-");
  ROW(name)
  ROW(init)
  ROW(startEvent)
  ROW(stopEvent)
  ROW(recordEventState)
  ROW(finalize)
}

#undef ROW

template <class Descr, class Args, class Profiler>
void print_version(int version) {
  print_event_descriptor<Descr>(version);
  print_state_arguments<Args>(version);
  print_profiler<Profiler>(version);
}

}  // namespace

int main() {
  namespace abi = ringside::abi;
  std::puts("abi_version\tstruct\tfield\toffset_bytes\tsize_bytes\ttype");
  print_version<abi::v1::EventDescr, abi::v1::EventStateArgs, abi::v1::Profiler>(1);
  print_version<abi::v2::EventDescr, abi::v2::EventStateArgs, abi::v2::Profiler>(2);
  print_version<abi::v3::EventDescr, abi::v3::EventStateArgs, abi::v3::Profiler>(3);
  print_version<abi::v4::EventDescr, abi::v4::EventStateArgs, abi::v4::Profiler>(4);
  print_version<abi::v5::EventDescr, abi::v5::EventStateArgs, abi::v5::Profiler>(5);
  print_version<abi::v6::EventDescr, abi::v6::EventStateArgs, abi::v6::Profiler>(6);
  print_version<abi::v7::EventDescr, abi::v7::EventStateArgs, abi::v7::Profiler>(7);
  return 0;
}
