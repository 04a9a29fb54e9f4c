// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/run_times.h"

#include <algorithm>

#include "analyzer/model/saturating.h"

namespace ringside::metrics {

void RunTimes::add_rank(std::uint32_t run, std::uint32_t rank) {
  std::vector<bool>& ranks = runs_[run].ranks;
  if (rank >= ranks.size()) {
    ranks.resize(std::size_t{rank} + 1);
  }
  ranks[rank] = true;
}

void RunTimes::add_times(std::uint32_t run, std::span<const facts::RankTimes> rows) {
  std::vector<Span>& hosts = runs_[run].hosts;
  for (const facts::RankTimes& row : rows) {
    if (row.host >= hosts.size()) {
      hosts.resize(std::size_t{row.host} + 1);
    }
    Span& span = hosts[row.host];
    span.first_ns = span.is_seen ? std::min(span.first_ns, row.arrival_ns) : row.arrival_ns;
    span.last_ns = span.is_seen ? std::max(span.last_ns, row.end_ns) : row.end_ns;
    span.is_seen = true;
  }
}

std::int64_t RunTimes::all_ns() const {
  std::int64_t all_ns = 0;
  for (const auto& [number, run] : runs_) {
    std::int64_t longest_ns = 0;
    for (const Span& span : run.hosts) {
      longest_ns = std::max(longest_ns, subtract_saturating(span.last_ns, span.first_ns));
    }
    const std::int64_t count = std::count(run.ranks.begin(), run.ranks.end(), true);
    all_ns = add_saturating(all_ns, multiply_saturating(longest_ns, count));
  }
  return all_ns;
}

}  // namespace ringside::metrics
