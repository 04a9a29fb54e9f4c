// SPDX-License-Identifier: Apache-2.0
#include "plugin/assemble/operations/progress.h"

#include <algorithm>

namespace ringside::assemble {
namespace {

// The most by which starts of one kernel's channels differ, or the GPU clock fit may be wrong.
constexpr std::int64_t kMostSkew_ns = 50'000;

}  // namespace

KernelExtent::KernelExtent(std::span<const KernelRow> channels) {
  for (const KernelRow& row : channels) {
    if (!row.rejected.empty() || row.gpu_start == 0) {
      continue;
    }
    first_start_ns = is_known() ? std::min(first_start_ns, row.start_ns) : row.start_ns;
    first_end_ns = first_end_ns == kUnknownTime ? row.end_ns : std::min(first_end_ns, row.end_ns);
    last_start_ns = std::max(last_start_ns, row.start_ns);
    last_end_ns = std::max(last_end_ns, row.end_ns);
  }
}

void Progress::add(const OpenOperation& open, const KernelExtent& kernels, bool is_completed) {
  const Operation& operation = open.operation;
  if (!is_completed && open.kernels_stopped == 0) {
    return;
  }
  Last& last = last_[operation.context];
  if (is_completed) {
    last.end_ns = std::max(last.end_ns, open.last_activity_ns);
    if (operation.number > last.number) {
      last.number = operation.number;
      last.group = operation.group;
    }
  }
  if (open.kernels_stopped > 0) {
    last.on_gpu = std::max(last.on_gpu, operation.number);
  }
  if (kernels.is_known()) {
    if (operation.group == 0 || operation.group != last.kernel_group) {
      last.kernel_group = operation.group;
      last.kernel_before_end_ns = last.kernel_end_ns;
    }
    last.kernel_end_ns = std::max(last.kernel_end_ns, kernels.last_end_ns);
  }
}

bool Progress::is_overtaken(const Operation& operation) const {
  const Last last = of(operation.context);
  return last.number >= operation.number &&
         (operation.group != 0 ? last.group != operation.group
                               : operation.kind != OperationKind::kP2p);
}

bool Progress::has_stamps_of_others(const Operation& operation, const KernelExtent& kernels) const {
  if (!kernels.is_known() || kernels.last_start_ns - kernels.first_end_ns <= kMostSkew_ns) {
    return false;
  }
  const Last last = of(operation.context);
  const bool is_same_kernel = operation.group != 0 && operation.group == last.kernel_group;
  const std::int64_t ahead_end_ns = is_same_kernel ? last.kernel_before_end_ns : last.kernel_end_ns;
  return kernels.first_start_ns < ahead_end_ns - kMostSkew_ns;
}

}  // namespace ringside::assemble
