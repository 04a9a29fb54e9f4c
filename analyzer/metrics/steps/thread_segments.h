// SPDX-License-Identifier: Apache-2.0
//
// The time of a CPU thread, cut where another operator or call becomes the innermost one.
#ifndef RINGSIDE_ANALYZER_METRICS_STEPS_THREAD_SEGMENTS_H
#define RINGSIDE_ANALYZER_METRICS_STEPS_THREAD_SEGMENTS_H

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <vector>

#include "analyzer/model/kineto/kineto.h"

namespace ringside::metrics {

enum class OpenCall : std::uint8_t { kNothing, kRange, kOperator, kRuntime };

struct Segment {
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  OpenCall innermost = OpenCall::kNothing;
  model::NameId name = model::kNoName;           // of the innermost
  model::NameId operator_name = model::kNoName;  // of the innermost operator
  std::uint32_t call = kNone;                    // of KinetoTrace::runtime, if it is the innermost
};

/// Whether the thread is in no operator, and in no call of CUDA.
inline bool is_idle(const Segment& segment) {
  return segment.innermost == OpenCall::kNothing || segment.innermost == OpenCall::kRange;
}

/// By thread, without gaps from `begin_ns` (the begin of the recording) to the thread's last call.
/// Ranges of the profiler's steps are none.
std::map<std::int64_t, std::vector<Segment>> thread_segments(const model::KinetoTrace& trace,
                                                             std::int64_t begin_ns);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_STEPS_THREAD_SEGMENTS_H
