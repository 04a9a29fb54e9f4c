// SPDX-License-Identifier: Apache-2.0
//
// NCCL's kernels in a trace of PyTorch's profiler: the operations that each of them ran, and by
// what proof.
#ifndef RINGSIDE_ANALYZER_MATCH_KINETO_KINETO_KERNELS_H
#define RINGSIDE_ANALYZER_MATCH_KINETO_KINETO_KERNELS_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "analyzer/model/kineto/kineto.h"
#include "analyzer/model/trace.h"

namespace ringside::match {

struct FramedOperation;

/// Why a kernel is that of these operations. Their functions agree in any case.
enum class KernelProof : std::uint8_t {
  kLaunch,  // its correlation is that of a launch within the framework's call that made them
  kOrder,   // on the stream of the communicator it is where they are in the order of calls
  kClock,   // it was launched on their thread between their call and the thread's next one
};
inline constexpr std::size_t kKernelProofs = 3;

/// An operation and its kernel: several have one if they were called together.
struct KernelPair {
  std::size_t operation = 0;  // of TraceFile::operations
  std::size_t activity = 0;   // of KinetoTrace::activities; of several the first
  std::int64_t start_ns = 0;  // since the epoch, by the host's clock; of all its kernels
  std::int64_t end_ns = 0;
  std::int64_t correlation = model::kNoId;
  std::int64_t device = 0;
  std::int64_t stream = 0;
  model::NameId kernel = model::kNoName;  // of Traces::names
  KernelProof proof = KernelProof::kLaunch;
};

struct KinetoKernels {
  std::vector<KernelPair> pairs;                      // by operation
  std::vector<std::size_t> activities;                // all that these operations ran as, sorted
  std::uint64_t kernels = 0;                          // of NCCL
  std::array<std::uint64_t, kKernelProofs> joined{};  // kernels, by proof
  std::uint64_t timed = 0;  // operations whose times come from these kernels
};

/// Joins NCCL's kernels with the operations of the process. `framed` are the operations that calls
/// of torch.distributed made, `names` those of the file. An operation of which NCCL's
/// own GPU events tell nothing gets the kernel's times.
KinetoKernels join_kineto_kernels(const model::KinetoTrace& trace,
                                  std::span<const FramedOperation> framed, model::NameTable& names,
                                  model::TraceFile& file);

}  // namespace ringside::match

#endif  // RINGSIDE_ANALYZER_MATCH_KINETO_KINETO_KERNELS_H
