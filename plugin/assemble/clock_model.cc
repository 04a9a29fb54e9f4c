// SPDX-License-Identifier: Apache-2.0
#include "plugin/assemble/clock_model.h"

#include <algorithm>

#include "ringside/trace_schema.h"

namespace ringside::assemble {
namespace {

constexpr std::uint64_t kSecond_ns = 1'000'000'000;
// Records are converted soon after they were made; older knots than this are never asked for.
constexpr std::size_t kMostKnots = 4096;
// Of a stretch, in ticks and in nanoseconds: the product of two such is below 2^64.
constexpr std::uint64_t kShort = 0xFFFFFFFF;

}  // namespace

ClockModel::ClockModel(const record::ClockReading& first) {
  const auto realtime_s = static_cast<std::int64_t>(first.realtime_ns / kSecond_ns);
  base_time_s_ = realtime_s - realtime_s % schema::kBaseTimeUnit_s;
  offset_ns_ = first.realtime_ns - first.monotonic_ns -
               static_cast<std::uint64_t>(base_time_s_) * kSecond_ns;
  knots_.push_back({first.ticks, ns_of_monotonic(first.monotonic_ns)});
}

void ClockModel::add(const record::ClockReading& reading) {
  const Knot knot{reading.ticks, ns_of_monotonic(reading.monotonic_ns)};
  if (knot.ticks <= knots_.back().ticks || knot.ns <= knots_.back().ns) {
    return;
  }
  if (knots_.size() == kMostKnots) {
    // The first stays: it carries the long baseline.
    knots_.erase(knots_.begin() + 1, knots_.begin() + kMostKnots / 2);
  }
  knots_.push_back(knot);
}

std::int64_t ClockModel::ns(std::uint64_t ticks) const {
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
