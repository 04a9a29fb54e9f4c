// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/run_times.h"

#include <algorithm>

#include "analyzer/model/saturating.h"

namespace ringside::metrics {

void RunTimes::add_times(std::uint32_t run, const facts::RankTimes& row) {
  Span& span = spans_[run].try_emplace(row.host, Span{row.arrival_ns, row.end_ns}).first->second;
  span.first_ns = std::min(span.first_ns, row.arrival_ns);
  span.last_ns = std::max(span.last_ns, row.end_ns);
}

std::int64_t RunTimes::all_ns() const {
  std::int64_t all_ns = 0;
  for (const auto& [run, spans] : spans_) {
    std::int64_t longest_ns = 0;
    for (const auto& [host, span] : spans) {
      longest_ns = std::max(longest_ns, subtract_saturating(span.last_ns, span.first_ns));
    }
    const auto ranks = ranks_.find(run);
    const std::size_t count = ranks == ranks_.end() ? 0 : ranks->second.size();
    all_ns =
        add_saturating(all_ns, multiply_saturating(longest_ns, static_cast<std::int64_t>(count)));
  }
  return all_ns;
}

}  // namespace ringside::metrics
