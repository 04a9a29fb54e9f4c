// SPDX-License-Identifier: Apache-2.0
#include "plugin/assemble/clocks/clock_model.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "ringside/trace_schema.h"

namespace ringside::assemble {
namespace {

constexpr std::uint64_t kSecond_ns = 1'000'000'000;
// The limit of knots_. Ticks are converted soon after they are read, so older knots are not needed.
constexpr std::size_t kMostKnots = 4096;
// The longest stretch, in ticks and in nanoseconds, for which a product of both is below 2^64.
constexpr std::uint64_t kShort = 0xFFFFFFFF;

// A smaller deviation of the counter from CLOCK_MONOTONIC is interpolated; it is no step.
constexpr double kLeastStep_ns = 1e6;
// The largest relative change of a known rate, and the largest relative error of the first guess.
constexpr double kMostSlew = 0.25;
constexpr double kMostGuess = 8;
// The rate is known once its two readings are apart by this many times their uncertainty.
constexpr std::uint64_t kRateSpan = 32;
// The longest time that a thread may take between reading its ticks and storing its record.
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
  // Slewing of CLOCK_MONOTONIC (up to a tenth) and the readings' uncertainty are no step.
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
    // The first knot stays, so that ticks before the kept knots are still interpolated.
    knots_.erase(knots_.begin() + 1, knots_.begin() + kMostKnots / 2);
  }
  knots_.push_back(knot);  // this may throw, so it precedes the changes below
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
  // Ticks are assigned to the side of the step on which the nearest known ticks were read.
  if (steps_ == 0) {
    return true;
  }
  if (step_.size_ns > 0) {
    return ticks > std::midpoint(ticks_after_, ticks_before_);
  }
  // After a step back, the counter sooner or later reaches the same ticks again.
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
  // Finds the stretch that ends at the first knot not before `ticks`, mostly the last stretch.
  // Ticks before the first or after the last knot use the nearest stretch.
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
    // The usual case: in a short stretch the product fits into 64 bits.
    const std::uint64_t delta_ns = (ticks - a.ticks) * span_ns / span_ticks;
    return std::max<std::int64_t>(a.ns + static_cast<std::int64_t>(delta_ns), 0);
  }
  const auto delta_ticks = static_cast<__int128>(ticks) - static_cast<__int128>(a.ticks);
  const __int128 delta_ns = delta_ticks * (b.ns - a.ns) / static_cast<__int128>(span_ticks);
  return std::max<std::int64_t>(a.ns + static_cast<std::int64_t>(delta_ns), 0);
}

}  // namespace ringside::assemble
