// SPDX-License-Identifier: Apache-2.0
//
// Fills NCCL's structs of any version from a recorded callback. A version's struct gets the fields
// that it has; the others are left out, as NCCL's own adapters for older plugins do.
#ifndef RINGSIDE_TEST_HOST_DESCRIPTOR_H
#define RINGSIDE_TEST_HOST_DESCRIPTOR_H

#include <type_traits>

#include "test/abi/event_types.h"
#include "test/host/enum_names.h"
#include "test/host/profiler_plugin.h"
#include "test/host/recording.h"

namespace ringside::host {

/// Assigns if the struct has the field. Version 1 has numbers where the others have names.
#define RINGSIDE_SET(field, value) \
  if constexpr (requires { to.field; }) to.field = static_cast<decltype(to.field)>(value)
#define RINGSIDE_SET_NAME(field, text, names, other)                                             \
  if constexpr (requires { to.field; }) {                                                        \
    if constexpr (std::is_pointer_v<decltype(to.field)>) to.field = (text);                      \
    if constexpr (!std::is_pointer_v<decltype(to.field)>) to.field = (names).value(text, other); \
  }

inline void* address(std::uint64_t value) {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(value));
}

template <class Coll>
void fill_coll(Coll& to, const Callback& from, const Pointers& pointers) {
  RINGSIDE_SET(name, from.comm_name);
  RINGSIDE_SET(commHash, from.comm_hash);
  RINGSIDE_SET(seqNumber, from.seq_number);
  RINGSIDE_SET_NAME(func, from.func, kFunctions, kUnknownFunction);
  RINGSIDE_SET(sendBuff, address(from.send_buff));
  RINGSIDE_SET(recvBuff, address(from.recv_buff));
  RINGSIDE_SET(count, from.count);
  RINGSIDE_SET(root, from.root);
  RINGSIDE_SET_NAME(datatype, from.datatype, kDatatypes, kUnknownDatatype);
  RINGSIDE_SET(op, 0);
  RINGSIDE_SET(trafficBytes, from.traffic_bytes);
  RINGSIDE_SET(nMaxChannels, from.n_channels);
  RINGSIDE_SET(nChannels, from.n_channels);
  RINGSIDE_SET(nWarps, from.n_warps);
  RINGSIDE_SET_NAME(algo, from.algo, kAlgorithms, 0);
  RINGSIDE_SET_NAME(proto, from.proto, kProtocols, 0);
  RINGSIDE_SET(isCollnet, 0);
  RINGSIDE_SET(isNvls, 0);
  RINGSIDE_SET(parentGroup, pointers.parent_group);
  RINGSIDE_SET(kernelVariant, from.kernel_variant);
  RINGSIDE_SET(isSymColl, from.symmetric);
  RINGSIDE_SET(userTag, from.user_tag);
  // Copy engine.
  RINGSIDE_SET(syncStrategy, from.sync_strategy);
  RINGSIDE_SET(intraBatchSync, from.intra_batch_sync);
  RINGSIDE_SET(batchSize, from.batch_size);
  RINGSIDE_SET(numBatches, from.n_batches);
  RINGSIDE_SET(ceSeqNum, from.ce_seq_num);
  RINGSIDE_SET(stream, address(from.stream));
}

template <class P2p>
void fill_p2p(P2p& to, const Callback& from, const Pointers& pointers) {
  RINGSIDE_SET(name, from.comm_name);
  RINGSIDE_SET(commHash, from.comm_hash);
  RINGSIDE_SET_NAME(func, from.func, kFunctions, kUnknownFunction);
  RINGSIDE_SET(buff, address(from.buff));
  RINGSIDE_SET_NAME(datatype, from.datatype, kDatatypes, kUnknownDatatype);
  RINGSIDE_SET(count, from.count);
  RINGSIDE_SET(peer, from.peer);
  RINGSIDE_SET(nChannels, from.n_channels);
  RINGSIDE_SET(parentGroup, pointers.parent_group);
  RINGSIDE_SET(userTag, from.user_tag);
}

template <class Api>
void fill_api(Api& to, const Callback& from) {
  RINGSIDE_SET(graphCaptured, from.graph_captured);
  RINGSIDE_SET(groupDepth, from.group_depth);
  RINGSIDE_SET(func, from.func);
  RINGSIDE_SET(count, from.count);
  RINGSIDE_SET(datatype, from.datatype);
  RINGSIDE_SET(root, from.root);
  RINGSIDE_SET(stream, address(from.stream));
  RINGSIDE_SET(userTag, from.user_tag);
}

template <class Descr>
void fill_proxy(Descr& to, const Callback& from, const Pointers& pointers) {
  if (from.type == abi::kProxyStep) {
    to.proxyStep.step = from.step;
  } else {
    to.proxyOp.pid = pointers.pid;
    to.proxyOp.channelId = from.channel;
    to.proxyOp.peer = from.peer;
    to.proxyOp.nSteps = from.n_steps;
    to.proxyOp.chunkSize = from.chunk_size;
    to.proxyOp.isSend = from.is_send;
  }
}

template <class Descr>
void fill_device(Descr& to, const Callback& from) {
  if constexpr (requires { to.kernelCh; }) {
    if (from.type == abi::kKernelCh) {
      to.kernelCh.channelId = from.channel;
      RINGSIDE_SET(kernelCh.pTimer, from.gpu_timer);
    }
  }
  if constexpr (requires { to.kernelPhase; }) {
    if (from.type == abi::kKernelPhase) {
      to.kernelPhase.channelId = from.channel;
      to.kernelPhase.phaseId = from.phase;
      to.kernelPhase.phaseName = from.phase_name;
      to.kernelPhase.pTimer = from.gpu_timer;
    }
  }
}

template <class Descr>
void fill_copy_engine(Descr& to, const Callback& from, const Pointers& pointers) {
  if constexpr (requires { to.ceColl; }) {
    if (from.type == abi::kCeColl) {
      fill_coll(to.ceColl, from, pointers);
    } else if (from.type == abi::kCeSync) {
      to.ceCollSync.isComplete = from.is_complete;
      to.ceCollSync.nRanks = from.n_ranks;
    } else if (from.type == abi::kCeBatch) {
      to.ceCollBatch.numOps = from.n_ops;
      to.ceCollBatch.totalBytes = from.total_bytes;
      to.ceCollBatch.useIntraSync = from.intra_batch_sync;
    }
  }
}

/// network_data is what the network plugin passes: valid during the call only.
template <class Descr>
void fill_descriptor(Descr& to, const Callback& from, const Pointers& pointers,
                     void* network_data) {
  to.type = static_cast<decltype(to.type)>(from.type);
  to.parentObj = pointers.parent;
  to.rank = from.rank;
  if (from.type == abi::kColl) {
    fill_coll(to.coll, from, pointers);
  } else if (from.type == abi::kP2p) {
    fill_p2p(to.p2p, from, pointers);
  } else if (from.type == abi::kProxyOp || from.type == abi::kProxyStep) {
    fill_proxy(to, from, pointers);
  } else if (from.type == abi::kNetPlugin) {
    RINGSIDE_SET(netPlugin.id, from.net_id);
    RINGSIDE_SET(netPlugin.data, network_data);
  }
  if constexpr (requires { to.collApi; }) {
    if (from.type == abi::kGroupApi) fill_api(to.groupApi, from);
    if (from.type == abi::kCollApi) fill_api(to.collApi, from);
    if (from.type == abi::kP2pApi) fill_api(to.p2pApi, from);
    if (from.type == abi::kKernelLaunch) fill_api(to.kernelLaunch, from);
  }
  fill_device(to, from);
  fill_copy_engine(to, from, pointers);
}

template <class Arguments>
void fill_arguments(Arguments& to, const Callback& from) {
  if (from.type == abi::kProxyCtrl || from.type == 0) {
    to.proxyCtrl.appendedProxyOps = from.appended;
  } else if (from.type == abi::kKernelCh || from.type == abi::kKernelPhase) {
    RINGSIDE_SET(kernelCh.pTimer, from.gpu_timer);
  } else if constexpr (requires { to.proxyOp; }) {
    // Version 3 and older have no arguments for steps; NCCL passes the struct all the same.
    to.proxyOp.transSize = from.trans_size;
    to.proxyOp.steps = from.steps;
  } else {
    to.proxyStep.transSize = from.trans_size;
  }
}

#undef RINGSIDE_SET
#undef RINGSIDE_SET_NAME

}  // namespace ringside::host

#endif  // RINGSIDE_TEST_HOST_DESCRIPTOR_H
