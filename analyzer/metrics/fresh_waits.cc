// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/fresh_waits.h"

#include <algorithm>

#include "analyzer/model/saturating.h"

namespace ringside::metrics {

std::int64_t FreshWaits::Span::shared_ns(const Span& other) const {
  const std::int64_t first_ns = std::max(from_ns, other.from_ns);
  const std::int64_t last_ns = std::min(until_ns, other.until_ns);
  return last_ns > first_ns ? subtract_saturating(last_ns, first_ns) : 0;
}

void FreshWaits::Span::join(const Span& other) {
  const bool is_one = touches(other);
  from_ns = is_one ? std::min(from_ns, other.from_ns) : other.from_ns;
  until_ns = is_one ? std::max(until_ns, other.until_ns) : other.until_ns;
}

// It may have waited as long as in all places one after the other, within that time.
std::int64_t FreshWaits::OfRank::most_ns() const {
  return possibly.from_ns == kNever
             ? 0
             : std::min(sum_ns, subtract_saturating(possibly.until_ns, possibly.from_ns));
}

FreshWaits::Span& FreshWaits::OfRank::of(const Place& place) {
  for (OfPlace& one : places) {
    if (one.place == place) {
      return one.possibly;
    }
  }
  return places.emplace_back(OfPlace{place, {}}).possibly;
}

facts::Interval FreshWaits::take(std::uint32_t rank, const Place& place,
                                 const facts::RankTimes& row, facts::Interval wait) {
  OfRank& before = ranks_[rank];
  const std::int64_t from_ns = row.latest_ns();
  facts::Interval fresh = wait;
  if (before.surely_until_ns > from_ns) {
    fresh.least_ns -=
        std::min(fresh.least_ns, subtract_saturating(before.surely_until_ns, from_ns));
  }
  const Span surely{from_ns, add_saturating(from_ns, wait.least_ns)};
  if (wait.most_ns > 0) {
    // Possible waits in another communicator may be apart, though they seem to overlap. So only
    // what the rank surely waited in both counts once.
    const std::int64_t first_ns = row.earliest_ns();
    const Span possibly{first_ns, row.waits_until_ns(wait.most_ns)};
    const Span shown{first_ns, add_saturating(first_ns, wait.most_ns)};
    Span& of_place = before.of(place);
    const std::int64_t own_ns = subtract_saturating(wait.most_ns, of_place.shared_ns(shown));
    const std::int64_t beyond_ns =
        std::min(subtract_saturating(wait.most_ns, before.surely.shared_ns(surely)),
                 subtract_saturating(subtract_saturating(possibly.until_ns, possibly.from_ns),
                                     before.surely.shared_ns(possibly)));
    fresh.most_ns = std::max(std::min(own_ns, beyond_ns), fresh.least_ns);
    of_place.join(shown);
    if (!before.possibly.touches(possibly)) {
      most_ns_ = add_saturating(most_ns_, before.most_ns());
      before.sum_ns = 0;
    }
    before.possibly.join(possibly);
    before.sum_ns = add_saturating(before.sum_ns, own_ns);
  }
  if (wait.least_ns > 0) {
    before.surely_until_ns = std::max(before.surely_until_ns, surely.until_ns);
    before.surely.join(surely);
  }
  return fresh;
}

std::int64_t FreshWaits::most_ns() const {
  std::int64_t all_ns = most_ns_;
  for (const OfRank& rank : ranks_) {
    all_ns = add_saturating(all_ns, rank.most_ns());
  }
  return all_ns;
}

}  // namespace ringside::metrics
