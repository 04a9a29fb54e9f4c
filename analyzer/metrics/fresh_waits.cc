// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/fresh_waits.h"

#include <algorithm>

#include "analyzer/model/saturating.h"

namespace ringside::metrics {

facts::Interval FreshWaits::take(std::uint32_t rank, const facts::RankTimes& row,
                                 facts::Interval wait) {
  OfRank& before = ranks_[rank];
  const std::int64_t from_ns = row.latest_ns();
  facts::Interval fresh = wait;
  if (before.surely_until_ns > from_ns) {
    fresh.least_ns -=
        std::min(fresh.least_ns, subtract_saturating(before.surely_until_ns, from_ns));
  }
  if (wait.least_ns > 0) {
    before.surely_until_ns =
        std::max(before.surely_until_ns, add_saturating(from_ns, wait.least_ns));
  }
  if (wait.most_ns <= 0) {
    return fresh;
  }
  const std::int64_t first_ns = row.earliest_ns();
  const std::int64_t last_ns = add_saturating(first_ns, wait.most_ns);
  const std::int64_t shared_from_ns = std::max(first_ns, before.possibly_from_ns);
  const std::int64_t shared_until_ns = std::min(last_ns, before.possibly_until_ns);
  if (shared_from_ns > shared_until_ns) {
    before.possibly_from_ns = first_ns;
    before.possibly_until_ns = last_ns;
    return fresh;
  }
  fresh.most_ns = std::max(
      subtract_saturating(fresh.most_ns, subtract_saturating(shared_until_ns, shared_from_ns)),
      fresh.least_ns);
  before.possibly_from_ns = std::min(before.possibly_from_ns, first_ns);
  before.possibly_until_ns = std::max(before.possibly_until_ns, last_ns);
  return fresh;
}

}  // namespace ringside::metrics
