// SPDX-License-Identifier: Apache-2.0
#include "plugin/assemble/operations/built_operation.h"

#include <algorithm>

#include "plugin/assemble/message_bytes.h"

namespace ringside::assemble {
namespace {

void widen(std::int64_t start_ns, std::int64_t end_ns, Operation& operation) {
  operation.start_ns =
      operation.start_ns == kUnknownTime ? start_ns : std::min(operation.start_ns, start_ns);
  operation.end_ns = std::max(operation.end_ns, end_ns);
}

// Returns when the GPU was first seen to take part in what the network moved. If the records
// of that are lost, the data were there when the last proxy operation ended.
std::int64_t first_data_ns(const OpenOperation& open) {
  return open.network_first_ns == kUnknownTime && open.moves_data ? open.proxy_last_ns
                                                                  : open.network_first_ns;
}

// Whether the first data that the rank gives to the network are its own, so that it need not wait
// for those of others before. In a ring each rank begins with its own, in a tree only the leaves.
bool gives_own_data(const Operation& operation) {
  if (operation.kind == OperationKind::kP2p) {
    return operation.func == "Send";
  }
  if (operation.func == "Broadcast") {
    return operation.has_root && operation.root_or_peer == operation.rank;
  }
  return waits_for_all(operation.func) && operation.algo == "RING";
}

}  // namespace

BuiltOperation::BuiltOperation(const OpenOperation& open, GpuClocks& gpu_clocks,
                               const Progress& progress)
    : operation(open.operation), open_(open) {
  place_kernels(gpu_clocks, progress);
  for (const KernelRow& row : kernels_) {
    if (!row.rejected.empty()) {
      ++operation.gpu_rejected;
      continue;
    }
    ++operation.gpu_channels;
    operation.gpu_polled = row.gpu_start == 0;
    widen(row.start_ns, row.end_ns, operation);
  }
  if (operation.gpu_channels > 0) {
    operation.times_from = TimesFrom::kGpu;
  } else if (const std::int64_t first_ns = first_data_ns(open); first_ns != kUnknownTime) {
    operation.times_from = TimesFrom::kProxy;
    operation.start_is_latest = !open.gives_data || !gives_own_data(operation);
    widen(first_ns, std::max(open.proxy_last_ns, first_ns), operation);
  } else if (open.proxy_last_ns != kUnknownTime) {
    operation.times_from = TimesFrom::kProxyQueue;
    widen(open.proxy_first_ns, open.proxy_last_ns, operation);
  }
  if (open.open_children > 0) {
    operation.state = OperationState::kStarted;
    operation.end_ns = kUnknownTime;
  } else if (operation.times_from != TimesFrom::kEnqueue || !kernels_.empty()) {
    operation.state = OperationState::kCompleted;
  }
  operation.in_flight = open.open_children > 0 || !open.call_has_returned();
}

void BuiltOperation::place_kernels(GpuClocks& gpu_clocks, const Progress& progress) {
  for (const OpenOperation::Kernel& kernel : open_.kernels) {
    kernels_.push_back(kernel.row);
    gpu_clocks.place(kernels_.back(), open_.earliest_ns);
  }
  extent = KernelExtent(kernels_);
  if (!progress.has_stamps_of_others(operation, extent)) {
    return;
  }
  for (KernelRow& row : kernels_) {
    if (row.rejected.empty() && row.gpu_start != 0) {
      // It is not known which of the stamps are the operation's own.
      row.rejected = "stamps of several kernels";
      row.start_ns = row.callback_start_ns;
      row.end_ns = row.callback_stop_ns;
    }
  }
}

bool BuiltOperation::write(RowWriter& rows, const Communicator& communicator,
                           const Tally& tally) const {
  const bool is_sampled_out = operation.sampled_out && !operation.in_flight;
  rows.write(OperationRow{&operation, &communicator}, tally, is_sampled_out);
  for (std::size_t i = 0; i < kernels_.size(); ++i) {
    rows.write(&kernels_[i], open_.kernels[i].tally, is_sampled_out);
  }
  return !is_sampled_out;
}

}  // namespace ringside::assemble
