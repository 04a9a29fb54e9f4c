// SPDX-License-Identifier: Apache-2.0
//
// From raw ticks to nanoseconds on the trace's time line.
//
// The time line is CLOCK_MONOTONIC plus the difference between CLOCK_REALTIME and CLOCK_MONOTONIC
// at load, relative to Kineto's base. Between two readings of both clocks ticks are interpolated,
// so that a time, once computed, stays what it is, and no time steps back where two stretches meet.
//
// The processor's counter may step against CLOCK_MONOTONIC: a virtual machine was suspended or
// moved, or a checkpoint was restored. Steady ticks are those of a counter that goes on at its old
// rate over each step. They alone are interpolated. Raw ticks become steady ticks by an offset that
// changes with each step, so whoever converts them has to know on which side of it they were read.
//
// Used by one thread.
#ifndef RINGSIDE_PLUGIN_ASSEMBLE_CLOCK_MODEL_H
#define RINGSIDE_PLUGIN_ASSEMBLE_CLOCK_MODEL_H

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
  std::int64_t before_ns;  ///< the first reading behind it
};

class ClockModel {
 public:
  /// `first` is the reading at load.
  explicit ClockModel(const record::ClockReading& first);

  /// Adds a later reading. Ticks up to it can then be converted without extrapolation. Returns the
  /// step that it shows, if any. Throws std::bad_alloc, and is then unchanged.
  std::optional<ClockStep> add(const record::ClockReading& reading);

  /// How many steps there were so far.
  std::uint32_t steps() const { return steps_; }

  /// Whether these raw ticks were read behind the last step, as far as the ticks alone tell. It is
  /// wrong at most for ticks between the two readings around a step that is shorter than the time
  /// between them, and for ticks that are converted seconds later than they were read.
  bool is_behind_step(std::uint64_t ticks) const;

  /// Raw ticks of behind the last step, or of before it, as steady ticks.
  std::uint64_t steady(std::uint64_t ticks, bool is_behind_step) const {
    return ticks + (is_behind_step ? offset_ : offset_before_);
  }
  std::uint64_t steady_ticks_of(std::int64_t duration_ns) const {
    return static_cast<std::uint64_t>(static_cast<double>(duration_ns) * ticks_per_ns_);
  }

  /// Nanoseconds since the base. Never negative.
  std::int64_t ns_of_steady(std::uint64_t ticks) const;
  /// The same of raw ticks.
  std::int64_t ns(std::uint64_t ticks) const {
    return ns_of_steady(steady(ticks, is_behind_step(ticks)));
  }

  /// The reading's monotonic time on the time line.
  std::int64_t ns_of_monotonic(std::uint64_t monotonic_ns) const {
    return static_cast<std::int64_t>(monotonic_ns + offset_ns_);
  }

  /// Raw ticks and their time, twice, the last reading second: the line along which raw ticks of
  /// now may be converted by somebody who has no more than that.
  struct Line {
    std::array<std::uint64_t, 2> ticks;
    std::array<std::int64_t, 2> ns;
  };
  Line line() const;

  /// Kineto's base, seconds since the epoch.
  std::int64_t base_time_s() const { return base_time_s_; }

 private:
  struct Knot {
    std::uint64_t ticks;  // steady
    std::int64_t ns;
  };
  std::int64_t base_time_s_;
  std::uint64_t offset_ns_;  // modulo 2^64: from CLOCK_MONOTONIC to the time line
  std::vector<Knot> knots_;

  std::uint64_t last_ticks_;           // raw, of the last reading
  std::uint64_t last_uncertainty_ns_;  // likewise
  Knot rate_from_;                     // the first reading behind the last step, or at load
  std::uint64_t rate_from_uncertainty_ns_;
  bool rate_known_ = false;  // since then
  double ticks_per_ns_ = 1;  // before it is known: of before the step, or a guess

  std::uint32_t steps_ = 0;
  ClockStep step_{};               // the last one
  std::uint64_t ticks_after_ = 0;  // raw, of the readings around the last step
  std::uint64_t ticks_before_ = 0;
  std::uint64_t offset_ = 0;         // modulo 2^64: from raw to steady ticks
  std::uint64_t offset_before_ = 0;  // the same, before the last step
};

}  // namespace ringside::assemble

#endif  // RINGSIDE_PLUGIN_ASSEMBLE_CLOCK_MODEL_H
