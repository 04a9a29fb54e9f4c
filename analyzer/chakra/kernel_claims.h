// SPDX-License-Identifier: Apache-2.0
//
// Which of NCCL's kernels in a trace of PyTorch's profiler ran which operations of the process.
#ifndef RINGSIDE_ANALYZER_CHAKRA_KERNEL_CLAIMS_H
#define RINGSIDE_ANALYZER_CHAKRA_KERNEL_CLAIMS_H

#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/chakra/rank_operations.h"
#include "analyzer/facts/facts.h"
#include "analyzer/model/kineto.h"

namespace ringside::chakra {

/// A trace of PyTorch's profiler, and the process that it is of.
struct Profile {
  const model::KinetoTrace* trace = nullptr;
  std::uint32_t file = 0;  // index into Traces::files
};

struct KernelClaims {
  /// By operation: an index into KinetoTrace::activities.
  std::vector<std::optional<std::uint32_t>> of_operation;
  std::vector<bool> is_claimed;  // by activity
};

/// NCCL enqueues the operations of a group, and then launches a kernel for those of each
/// communicator, on the thread that called. So a kernel is that of the operations which the thread
/// has enqueued since the group before, of one communicator and of the kernel's function.
KernelClaims find_kernel_claims(const facts::Facts& facts, const Profile& profile,
                                const std::vector<RankOperation>& operations);

}  // namespace ringside::chakra

#endif  // RINGSIDE_ANALYZER_CHAKRA_KERNEL_CLAIMS_H
