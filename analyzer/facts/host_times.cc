// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/host_times.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "analyzer/model/saturating.h"

namespace ringside::facts {
namespace {

// A clock is looked at so often while an operation lasts, but not more often than that.
constexpr std::int64_t kLook_ns = 50'000'000;
constexpr std::int64_t kMostLooks = 16;

bool is_on_clock(const RankTimes& rank) {
  return rank.error.late_ns != align::kUnknownError.late_ns;
}

// Calls visit(ranks) with those that follow each other and are of one host.
template <typename Row, typename Visit>
void for_each_host(std::span<Row> rows, const Visit& visit) {
  for (std::size_t first = 0; first < rows.size();) {
    std::size_t end = first + 1;
    while (end < rows.size() && rows[end].host == rows[first].host) {
      ++end;
    }
    visit(rows.subspan(first, end - first));
    first = end;
  }
}

std::int64_t known_to_ns(const align::OffsetAt& clock, double offset_ns) {
  return clock.uncertainty_ns ? std::llround(std::ceil(*clock.uncertainty_ns +
                                                       std::abs(clock.offset_ns - offset_ns)))
                              : kUnknownClock_ns;
}

}  // namespace

std::int64_t last_arrival_of(const align::Alignment& alignment, std::span<const RankTimes> rows) {
  std::int64_t last_ns = std::numeric_limits<std::int64_t>::min();
  for_each_host(rows, [&](std::span<const RankTimes> ranks) {
    std::int64_t of_host_ns = std::numeric_limits<std::int64_t>::min();
    bool is_any_on_clock = false;
    for (const RankTimes& rank : ranks) {
      if (is_on_clock(rank)) {
        of_host_ns = std::max(of_host_ns, rank.arrival_ns);
        is_any_on_clock = true;
      } else {
        last_ns = std::max(last_ns, rank.arrival_ns);
      }
    }
    if (is_any_on_clock) {
      last_ns = std::max(last_ns, alignment.host_to_common_ns(ranks.front().host, of_host_ns));
    }
  });
  return last_ns;
}

void put_on_common_clock(const align::Alignment& alignment, bool all_need_all,
                         std::span<RankTimes> rows) {
  if (rows.empty()) {
    return;
  }
  const std::int64_t last_ns = last_arrival_of(alignment, rows);
  bool is_last_known = all_need_all;
  bool is_one_host = true;
  std::int64_t begin_ns = last_ns;
  std::int64_t end_ns = last_ns;
  for_each_host(rows, [&](std::span<RankTimes> ranks) {
    const align::OffsetAt clock = alignment.clock_at(ranks.front().host, last_ns);
    const std::int64_t offset_ns = std::llround(std::clamp(clock.offset_ns, -1e18, 1e18));
    is_one_host = is_one_host && ranks.size() == rows.size();
    for (RankTimes& rank : ranks) {
      rank.clock_ns = known_to_ns(clock, clock.offset_ns);
      if (!is_on_clock(rank)) {
        continue;
      }
      rank.arrival_ns = add_saturating(rank.arrival_ns, offset_ns);
      rank.end_ns = add_saturating(rank.end_ns, offset_ns);
      is_last_known = is_last_known && rank.has_execution && rank.open_ns == 0;
      begin_ns = std::min(begin_ns, rank.arrival_ns);
      end_ns = std::max(end_ns, rank.end_ns);
    }
  });
  if (is_last_known || is_one_host) {
    return;
  }
  // Times of two hosts may be compared at any moment of the operation, and the clocks may be off
  // by something else then.
  const std::int64_t passed_ns = subtract_saturating(end_ns, begin_ns);
  const std::int64_t looks = std::clamp<std::int64_t>(passed_ns / kLook_ns + 1, 1, kMostLooks);
  for_each_host(rows, [&](std::span<RankTimes> ranks) {
    const std::uint32_t host = ranks.front().host;
    const double offset_ns = alignment.clock_at(host, last_ns).offset_ns;
    std::int64_t clock_ns = ranks.front().clock_ns;
    for (std::int64_t look = 0; look <= looks; ++look) {
      const std::int64_t at_ns = begin_ns + passed_ns / looks * look;
      clock_ns = std::max(clock_ns, known_to_ns(alignment.clock_at(host, at_ns), offset_ns));
    }
    for (RankTimes& rank : ranks) {
      rank.clock_ns = clock_ns;
    }
  });
}

}  // namespace ringside::facts
