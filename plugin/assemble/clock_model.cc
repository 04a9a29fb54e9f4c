// SPDX-License-Identifier: Apache-2.0
#include "plugin/assemble/clock_model.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "ringside/trace_schema.h"

namespace ringside::assemble {
namespace {

constexpr std::uint64_t kSecond_ns = 1'000'000'000;
// Records are converted soon after they were made; older knots than this are never asked for.
constexpr std::size_t kMostKnots = 4096;
// Of a stretch, in ticks and in nanoseconds: the product of two such is below 2^64.
constexpr std::uint64_t kShort = 0xFFFFFFFF;

// A deviation of the counter from CLOCK_MONOTONIC that is less is no step, but interpolated over.
constexpr double kLeastStep_ns = 1e6;
// By how much the rate may change, and how wrong the first guess of it may be.
constexpr double kMostSlew = 0.25;
constexpr double kMostGuess = 8;
// A rate is known from so many times the uncertainty of its two readings on.
constexpr std::uint64_t kRateSpan = 32;
// A thread that is held up between the reading of its ticks and the storing of its record is not
// held up for longer.
constexpr std::int64_t kLatest_ns = 10'000'000'000;

}  // namespace

ClockModel::ClockModel(const record::ClockReading& first) {
  const auto realtime_s = static_cast<std::int64_t>(first.realtime_ns / kSecond_ns);
  base_time_s_ = realtime_s - realtime_s % schema::kBaseTimeUnit_s;
  offset_ns_ = first.realtime_ns - first.monotonic_ns -
               static_cast<std::uint64_t>(base_time_s_) * kSecond_ns;
  rate_from_ = {first.ticks, ns_of_monotonic(first.monotonic_ns)};
  rate_from_uncertainty_ns_ = last_uncertainty_ns_ = first.uncertainty_ns;
  last_ticks_ = first.ticks;
  knots_.push_back(rate_from_);
}

std::optional<ClockStep> ClockModel::add(const record::ClockReading& reading) {
  const Knot last = knots_.back();
  const std::int64_t now_ns = ns_of_monotonic(reading.monotonic_ns);
  if (now_ns <= last.ns) {
    return std::nullopt;
  }
  const auto elapsed_ns = static_cast<double>(now_ns - last.ns);
  const auto went = static_cast<std::int64_t>(reading.ticks + offset_ - last.ticks);
  const double size_ns = static_cast<double>(went) / ticks_per_ns_ - elapsed_ns;
  // Neither the kernel, which slews CLOCK_MONOTONIC by up to a tenth, nor the readings' own
  // uncertainty is a step.
  const double tolerance_ns =
      kLeastStep_ns + static_cast<double>(reading.uncertainty_ns + last_uncertainty_ns_);
  const double slew_ns = elapsed_ns * (rate_known_ ? kMostSlew : kMostGuess);
  const bool stands = went <= 0;
  const bool is_step =
      std::abs(size_ns) > tolerance_ns + slew_ns || (stands && elapsed_ns > tolerance_ns);
  if (stands && !is_step) {
    return std::nullopt;
  }
  Knot knot{reading.ticks + offset_, now_ns};
  if (is_step) {
    const auto expected = static_cast<std::uint64_t>(elapsed_ns * ticks_per_ns_);
    knot.ticks = last.ticks + std::max<std::uint64_t>(expected, 1);
  }
  if (knots_.size() == kMostKnots) {
    // The first stays: it carries the long baseline.
    knots_.erase(knots_.begin() + 1, knots_.begin() + kMostKnots / 2);
  }
  knots_.push_back(knot);  // what may throw comes first
  if (is_step) {
    ++steps_;
    step_ = {static_cast<std::int64_t>(size_ns), last.ns, now_ns};
    ticks_after_ = last_ticks_;
    ticks_before_ = reading.ticks;
    offset_before_ = std::exchange(offset_, knot.ticks - reading.ticks);
    rate_from_ = knot;
    rate_from_uncertainty_ns_ = reading.uncertainty_ns;
  }
  last_ticks_ = reading.ticks;
  last_uncertainty_ns_ = reading.uncertainty_ns;
  const auto span_ns = static_cast<std::uint64_t>(now_ns - rate_from_.ns);
  rate_known_ = span_ns > kRateSpan * (rate_from_uncertainty_ns_ + last_uncertainty_ns_);
  if (rate_known_ || (steps_ == 0 && span_ns != 0)) {
    ticks_per_ns_ =
        static_cast<double>(knot.ticks - rate_from_.ticks) / static_cast<double>(span_ns);
  }
  return is_step ? std::optional(step_) : std::nullopt;
}

bool ClockModel::is_behind_step(std::uint64_t ticks) const {
  // Ticks are taken for those of the side to whose last known ticks they are nearer.
  if (steps_ == 0) {
    return true;
  }
  if (step_.size_ns > 0) {
    return ticks > std::midpoint(ticks_after_, ticks_before_);
  }
  // The counter stepped back, and sooner or later comes to the same ticks again.
  const bool comes_again = last_ticks_ != ticks_before_ && last_ticks_ >= ticks_after_;
  if (comes_again || knots_.back().ns - step_.before_ns > kLatest_ns) {
    return true;
  }
  return ticks < std::midpoint(ticks_after_, last_ticks_);
}

ClockModel::Line ClockModel::line() const {
  const Knot& last = knots_.back();
  if (rate_known_) {
    return {{rate_from_.ticks - offset_, last_ticks_}, {rate_from_.ns, last.ns}};
  }
  const std::uint64_t ticks = std::min(last_ticks_, steady_ticks_of(kSecond_ns));
  const auto before_ns = static_cast<std::int64_t>(static_cast<double>(ticks) / ticks_per_ns_);
  return {{last_ticks_ - ticks, last_ticks_}, {last.ns - before_ns, last.ns}};
}

std::int64_t ClockModel::ns_of_steady(std::uint64_t ticks) const {
  if (knots_.size() == 1) {
    return knots_.front().ns;
  }
  // The stretch that ends at the first knot not before `ticks`; before the first and after the last
  // knot the nearest stretch is extended. Mostly it is the last one: records are young.
  const auto last = knots_.end() - 1;
  const auto end =
      ticks > (last - 1)->ticks
          ? last
          : std::lower_bound(knots_.begin() + 1, last, ticks,
                             [](const Knot& knot, std::uint64_t t) { return knot.ticks < t; });
  const Knot& a = *(end - 1);
  const Knot& b = *end;
  const std::uint64_t span_ticks = b.ticks - a.ticks;
  const auto span_ns = static_cast<std::uint64_t>(b.ns - a.ns);
  if (ticks >= a.ticks && ticks <= b.ticks && span_ticks <= kShort && span_ns <= kShort) {
    // Within a short stretch, which is the rule, the product fits into 64 bits.
    const std::uint64_t delta_ns = (ticks - a.ticks) * span_ns / span_ticks;
    return std::max<std::int64_t>(a.ns + static_cast<std::int64_t>(delta_ns), 0);
  }
  const auto delta_ticks = static_cast<__int128>(ticks) - static_cast<__int128>(a.ticks);
  const __int128 delta_ns = delta_ticks * (b.ns - a.ns) / static_cast<__int128>(span_ticks);
  return std::max<std::int64_t>(a.ns + static_cast<std::int64_t>(delta_ns), 0);
}

}  // namespace ringside::assemble
