// SPDX-License-Identifier: Apache-2.0
//
// The clock of the drain thread: the last clock reading, and the model made from all readings.
#ifndef RINGSIDE_PLUGIN_DRAIN_TRACE_CLOCK_H
#define RINGSIDE_PLUGIN_DRAIN_TRACE_CLOCK_H

#include <cstdint>
#include <optional>

#include "plugin/assemble/clocks/clock_model.h"
#include "plugin/record/recorder.h"

namespace ringside::drain {

class TraceClock {
 public:
  TraceClock() : reading_(record::read_clocks(source())), model_(reading_), now_ns_(ns(now())) {}

  static record::ClockSource source() { return record::g_recorder.clock_source(); }

  /// Reads the clocks again, so that older ticks can be converted. Returns the step that the
  /// reading shows, if any. Throws std::bad_alloc.
  std::optional<assemble::ClockStep> read() {
    const record::ClockReading reading = record::read_clocks(source());
    const auto step = model_.add(reading);
    reading_ = reading;
    now_ns_ = model_.ns_of_steady(now());
    return step;
  }

  const assemble::ClockModel& model() const { return model_; }
  const record::ClockReading& reading() const { return reading_; }
  /// The last reading's time on the trace's time line, and its steady ticks.
  std::int64_t now_ns() const { return now_ns_; }
  std::uint64_t now() const { return model_.steady(reading_.ticks, true); }

  /// Converts raw ticks to a time.
  std::int64_t ns(std::uint64_t ticks) const { return model_.ns(ticks); }

 private:
  record::ClockReading reading_;
  assemble::ClockModel model_;
  std::int64_t now_ns_;
};

}  // namespace ringside::drain

#endif  // RINGSIDE_PLUGIN_DRAIN_TRACE_CLOCK_H
