// SPDX-License-Identifier: Apache-2.0
//
// Converts raw ticks to nanoseconds on the trace's time line.
//
// The time line is CLOCK_MONOTONIC plus the difference between CLOCK_REALTIME and CLOCK_MONOTONIC
// at load, relative to Kineto's base. Ticks between two clock readings are interpolated. So a
// computed time never changes, and times do not step back where two stretches meet.
//
// The processor's counter may step against CLOCK_MONOTONIC when a virtual machine is suspended or
// moved, or when a checkpoint is restored. Steady ticks are those of an imagined counter that
// continues at its old rate over each step. Only steady ticks are interpolated. An offset that
// changes with each step converts raw ticks to steady ticks, so a caller must know on which side of
// the step its raw ticks were read.
//
// Used by one thread.
#ifndef RINGSIDE_PLUGIN_ASSEMBLE_CLOCKS_CLOCK_MODEL_H
#define RINGSIDE_PLUGIN_ASSEMBLE_CLOCKS_CLOCK_MODEL_H

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "plugin/record/clock.h"

namespace ringside::assemble {

/// A step of the counter against CLOCK_MONOTONIC, between two readings of the clocks.
struct ClockStep {
  std::int64_t size_ns;    ///< how far the counter stepped; negative: back
  std::int64_t after_ns;   ///< the last reading before the step
  std::int64_t before_ns;  ///< the first reading after the step
};

class ClockModel {
 public:
  /// `first` is the reading at load.
  explicit ClockModel(const record::ClockReading& first);

  /// Adds a later reading. Ticks up to it can then be converted without extrapolation. Returns the
  /// step that it shows, if any. Throws std::bad_alloc, and is then unchanged.
  std::optional<ClockStep> add(const record::ClockReading& reading);

  std::uint32_t steps() const { return steps_; }

  /// Whether these raw ticks were read after the last step, judged by the ticks alone. The answer
  /// can be wrong for ticks between the two readings around a step that is shorter than the time
  /// between these readings, and for ticks that are converted seconds after they were read.
  bool is_behind_step(std::uint64_t ticks) const;

  /// Converts raw ticks, which were read after or before the last step, to steady ticks.
  std::uint64_t steady(std::uint64_t ticks, bool is_behind_step) const {
    return ticks + (is_behind_step ? offset_ : offset_before_);
  }
  std::uint64_t steady_ticks_of(std::int64_t duration_ns) const {
    return static_cast<std::uint64_t>(static_cast<double>(duration_ns) * ticks_per_ns_);
  }

  /// Nanoseconds since the base. Never negative.
  std::int64_t ns_of_steady(std::uint64_t ticks) const;
  /// The same for raw ticks.
  std::int64_t ns(std::uint64_t ticks) const {
    return ns_of_steady(steady(ticks, is_behind_step(ticks)));
  }

  /// The reading's monotonic time on the time line.
  std::int64_t ns_of_monotonic(std::uint64_t monotonic_ns) const {
    return static_cast<std::int64_t>(monotonic_ns + offset_ns_);
  }

  /// Two pairs of raw ticks and their time; the second is the last reading. A program that has only
  /// these can convert current raw ticks along the line through them.
  struct Line {
    std::array<std::uint64_t, 2> ticks;
    std::array<std::int64_t, 2> ns;
  };
  Line line() const;

  /// Kineto's base, seconds since the epoch.
  std::int64_t base_time_s() const { return base_time_s_; }

 private:
  struct Knot {
    std::uint64_t ticks;  // steady ticks
    std::int64_t ns;
  };
  std::int64_t base_time_s_;
  std::uint64_t offset_ns_;  // modulo 2^64: from CLOCK_MONOTONIC to the time line
  std::vector<Knot> knots_;

  std::uint64_t last_ticks_;           // the last reading's raw ticks
  std::uint64_t last_uncertainty_ns_;  // uncertainty of the last reading
  Knot rate_from_;                     // the first reading after the last step, or the one at load
  std::uint64_t rate_from_uncertainty_ns_;
  bool rate_known_ = false;  // since rate_from_
  double ticks_per_ns_ = 1;  // until the rate is known: the one before the step, or a guess

  std::uint32_t steps_ = 0;
  ClockStep step_{};               // the last step
  std::uint64_t ticks_after_ = 0;  // raw ticks of the readings around the last step
  std::uint64_t ticks_before_ = 0;
  std::uint64_t offset_ = 0;         // modulo 2^64: from raw to steady ticks
  std::uint64_t offset_before_ = 0;  // the same, before the last step
};

}  // namespace ringside::assemble

#endif  // RINGSIDE_PLUGIN_ASSEMBLE_CLOCKS_CLOCK_MODEL_H
