// SPDX-License-Identifier: Apache-2.0
//
// Waits of a CPU thread for the GPU: in which call, for which kernel or copy, and which operator
// came next.
#ifndef RINGSIDE_ANALYZER_METRICS_STEPS_GPU_WAITS_H
#define RINGSIDE_ANALYZER_METRICS_STEPS_GPU_WAITS_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/model/kineto/kineto.h"

namespace ringside::metrics {

/// How it is known what a call waited for.
enum class WaitProof : std::uint8_t {
  kRecorded,  // a cuda_sync event names the stream, or the event
  kCopy,      // a copy that CUDA ends before its call returns
  kInferred,  // from streams and times: no cuda_sync event was recorded
};

/// Why a dependency is none between two operators that are told apart by External ids.
enum class LeftOut : std::uint8_t { kNot, kSameId, kNoId };

/// A kernel, or copy, that a call of the CPU waited for. Indices are of the trace's columns.
struct GpuWait {
  std::size_t activity = 0;
  std::size_t call = 0;                  // of runtime
  std::optional<std::size_t> operation;  // the next operator that starts on the call's thread
  std::optional<std::size_t> launcher;   // the operator that the activity's External id names
  /// From the call's start to the end of the kernel, or of the call if that is earlier: 0 if the
  /// kernel was over before.
  std::int64_t waited_ns = 0;
  bool is_last = false;  // of all that this call waited for, this was over last
  WaitProof proof = WaitProof::kRecorded;
  LeftOut left_out = LeftOut::kNot;
};

struct GpuWaits {
  std::vector<GpuWait> waits;  // by start of the call
  std::size_t calls = 0;       // that wait for the GPU
  std::size_t unresolved = 0;  // of these, such of which it is not known what for
  bool has_syncs = false;      // cuda_sync events were recorded
};

/// A call that waits for a stream or a device waits for what was launched last on it before. One
/// that waits for an event, for what was launched last before the event was recorded. Without
/// cuda_sync events, the stream of cudaStreamSynchronize is that of the thread's last launch, if
/// its last work was over by the end of the call; else, as for cudaEventSynchronize, the work
/// counts that was over last while the call waited.
GpuWaits find_gpu_waits(const model::KinetoTrace& trace);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_STEPS_GPU_WAITS_H
