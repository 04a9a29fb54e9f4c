// SPDX-License-Identifier: Apache-2.0
//
// How far the time in a trace may be from the moment that it stands for. This is the one model of
// it; docs/metrics.md states it. It is about stamps on their own host's clock. Alignment says how
// well that clock is known against other hosts' clocks.
#ifndef RINGSIDE_ANALYZER_ALIGN_POINTS_STAMP_ERRORS_H
#define RINGSIDE_ANALYZER_ALIGN_POINTS_STAMP_ERRORS_H

#include <cstdint>
#include <limits>
#include <vector>

#include "analyzer/model/trace.h"

namespace ringside::align {

/// The moment is in [stamp - late_ns, stamp + early_ns].
struct StampError {
  std::int64_t early_ns = 0;
  std::int64_t late_ns = 0;
  /// How far the difference of two of them, which err alike, may be from the truth all the same.
  std::int64_t step_ns = 0;
};

/// A thread reads the host's clock before or after the moment itself, and may be interrupted there.
inline constexpr StampError kCallError{0, 2'000};
/// NCCL's proxy thread looks in turn at all that it progresses, so its callbacks come late.
inline constexpr StampError kProxyError{0, 20'000, 20'000};
/// CUPTI puts the GPU's times onto the host's clock for Kineto, by a fit of its own.
inline constexpr std::int64_t kKinetoFit_ns = 5'000;
/// The step of a GPU's global timer.
inline constexpr std::int64_t kGpuStep_ns = 1'000;
/// The error where nothing is known of the moment.
inline constexpr StampError kUnknownError{std::numeric_limits<std::int64_t>::max(),
                                          std::numeric_limits<std::int64_t>::max()};

/// Thread-safe once made.
class StampErrors {
 public:
  StampErrors() = default;
  /// Reads all operations once.
  explicit StampErrors(const model::Traces& traces);

  /// The error of start_ns and end_ns. Stamps of a GPU are put on the host's clock by a lower
  /// envelope of late callbacks, so they are late by the least delay of a callback: no more than
  /// any callback of the proxy thread, which makes them. No kernel starts before its call, so the
  /// least time from a call to its kernel bounds that, too. Two stamps of
  /// one communicator's context have the same error, so their difference has none but that of the
  /// timer's step. Times of Kineto's kernels are late by no more than theirs, for the same reason.
  /// `Times`: model::Operation or model::Execution.
  template <typename Times>
  StampError of(std::uint32_t file, const Times& operation) const {
    return of(file, operation.context, operation.times_from, operation.gpu_polled);
  }

 private:
  StampError of(std::uint32_t file, std::uint32_t context, model::TimesFrom times_from,
                bool gpu_polled) const;

  // The least time from a call to its kernel, of one context, and of what Kineto tells or not.
  struct OfContext {
    std::uint32_t context = 0;
    bool is_kineto = false;
    std::int64_t late_ns = 0;
  };

  std::vector<OfContext> gpu_late_ns_;  // by file: few, in the order of the first two
  std::vector<std::size_t> first_;      // of each file, and where those of the last one end
};

}  // namespace ringside::align

#endif  // RINGSIDE_ANALYZER_ALIGN_POINTS_STAMP_ERRORS_H
