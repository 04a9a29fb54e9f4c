// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/latest.h"

namespace ringside::facts {

std::int64_t Latest::key_of(const OfHost& there) const {
  if (there.clock_ns == kUnknownClock_ns) {
    return bound_ == Bound::kLeast ? kNever : kUnknown;
  }
  return bound_ == Bound::kLeast ? subtract_saturating(there.last.time_ns, there.clock_ns)
                                 : add_saturating(there.last.time_ns, there.clock_ns);
}

void Latest::add(std::span<const RankTimes> rows, std::uint32_t row) {
  const RankTimes& times = rows[row];
  const std::int64_t time_ns = bound_ == Bound::kLeast ? times.earliest_ns() : times.latest_ns();
  if (times.host >= hosts_.size()) {
    hosts_.resize(std::size_t{times.host} + 1);
  }
  OfHost& host = hosts_[times.host];
  host.clock_ns = times.clock_ns;
  if (host.last.row == RankTimes::kNobody || time_ns > host.last.time_ns) {
    host.before = host.last;
    host.last = {time_ns, row};
  } else if (host.before.row == RankTimes::kNobody || time_ns > host.before.time_ns) {
    host.before = {time_ns, row};
  }
  host.key_ns = key_of(host);
  // Keys only grow, so the two greatest are found as they come.
  if (times.host == first_) {
    return;
  }
  if (first_ == RankTimes::kNobody || host.key_ns > hosts_[first_].key_ns) {
    second_ = first_;
    first_ = times.host;
  } else if (times.host != second_ &&
             (second_ == RankTimes::kNobody || host.key_ns > hosts_[second_].key_ns)) {
    second_ = times.host;
  }
}

Latest::Moment Latest::elsewhere_from(std::span<const RankTimes> rows, std::uint32_t row) const {
  const RankTimes& times = rows[row];
  const std::uint32_t other = first_ == times.host ? second_ : first_;
  if (other == RankTimes::kNobody) {
    return {};
  }
  if (times.clock_ns == kUnknownClock_ns || hosts_[other].clock_ns == kUnknownClock_ns) {
    return bound_ == Bound::kLeast ? Moment{} : Moment{kUnknown, hosts_[other].last.row};
  }
  const std::int64_t key_ns = hosts_[other].key_ns;
  return {bound_ == Bound::kLeast ? subtract_saturating(key_ns, times.clock_ns)
                                  : add_saturating(key_ns, times.clock_ns),
          hosts_[other].last.row};
}

Latest::Moment Latest::seen_from(std::span<const RankTimes> rows, std::uint32_t row) const {
  const Moment there = elsewhere_from(rows, row);
  Moment here;
  if (rows[row].host < hosts_.size()) {
    const OfHost& own = hosts_[rows[row].host];
    here = own.last.row == row ? own.before : own.last;
  }
  const bool is_there = there.row != RankTimes::kNobody &&
                        (here.row == RankTimes::kNobody || there.time_ns > here.time_ns);
  return is_there ? there : here;
}

}  // namespace ringside::facts
