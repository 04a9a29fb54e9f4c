// SPDX-License-Identifier: Apache-2.0
//
// From raw ticks to nanoseconds on the trace's time line.
//
// The time line is CLOCK_MONOTONIC plus the difference between CLOCK_REALTIME and CLOCK_MONOTONIC
// at load, relative to Kineto's base. Between two readings of both clocks ticks are interpolated,
// so that a time, once computed, stays what it is, and no time steps back where two stretches meet.
// Used by one thread.
#ifndef RINGSIDE_PLUGIN_ASSEMBLE_CLOCK_MODEL_H
#define RINGSIDE_PLUGIN_ASSEMBLE_CLOCK_MODEL_H

#include <cstdint>
#include <vector>

#include "plugin/record/clock.h"

namespace ringside::assemble {

class ClockModel {
 public:
  /// `first` is the reading at load.
  explicit ClockModel(const record::ClockReading& first);

  /// Adds a later reading. Ticks up to it can then be converted without extrapolation.
  void add(const record::ClockReading& reading);

  /// Nanoseconds since the base. Never negative.
  std::int64_t ns(std::uint64_t ticks) const;

  /// The reading's monotonic time on the time line.
  std::int64_t ns_of_monotonic(std::uint64_t monotonic_ns) const {
    return static_cast<std::int64_t>(monotonic_ns + offset_ns_);
  }

  /// Kineto's base, seconds since the epoch.
  std::int64_t base_time_s() const { return base_time_s_; }

 private:
  struct Knot {
    std::uint64_t ticks;
    std::int64_t ns;
  };
  std::int64_t base_time_s_;
  std::uint64_t offset_ns_;  // modulo 2^64: from CLOCK_MONOTONIC to the time line
  std::vector<Knot> knots_;
};

}  // namespace ringside::assemble

#endif  // RINGSIDE_PLUGIN_ASSEMBLE_CLOCK_MODEL_H
