// SPDX-License-Identifier: Apache-2.0
//
// How long a rank's GPU computed and communicated, by a trace of PyTorch's profiler.
#ifndef RINGSIDE_ANALYZER_MATCH_KINETO_GPU_TIME_H
#define RINGSIDE_ANALYZER_MATCH_KINETO_GPU_TIME_H

#include <cstdint>

#include "analyzer/model/kineto/kineto.h"

namespace ringside::match {

/// Times in which kernels ran on any stream. Kernels that communicate are NCCL's and those of
/// model::other_kernel(); all others compute. Copies count nowhere. The exposed communication is
/// communicating_ns - both_ns, as HolisticTraceAnalysis defines it.
struct GpuTime {
  std::int64_t span_ns = 0;  // from the first start of a kernel to the last end
  std::int64_t computing_ns = 0;
  std::int64_t communicating_ns = 0;
  std::int64_t both_ns = 0;
};

GpuTime find_gpu_time(const model::KinetoTrace& trace);

}  // namespace ringside::match

#endif  // RINGSIDE_ANALYZER_MATCH_KINETO_GPU_TIME_H
