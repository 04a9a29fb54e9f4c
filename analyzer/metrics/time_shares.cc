// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/time_shares.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <string_view>
#include <utility>

#include "analyzer/metrics/interval_sweep.h"
#include "analyzer/metrics/own_calls.h"
#include "analyzer/model/parallel.h"
#include "analyzer/model/saturating.h"

namespace ringside::metrics {
namespace {

// "rank 9" before "rank 10"; what has no number behind all others.
std::uint64_t number_of(std::string_view label) {
  std::uint64_t number = std::numeric_limits<std::uint64_t>::max();
  constexpr std::string_view kPrefix = "rank ";
  if (label.starts_with(kPrefix)) {
    std::from_chars(label.data() + kPrefix.size(), label.data() + label.size(), number);
  }
  return number;
}

}  // namespace

TimeShares::TimeShares(const facts::Facts& facts)
    : facts_(facts), who_(facts.traces(), facts.matches()), of_thread_(core_count()) {
  for (std::vector<OfRank>& ranks : of_thread_) {
    ranks.resize(who_.all().size());
  }
}

void TimeShares::add(std::size_t thread, const facts::SeenOperation& seen) {
  const match::Matches& matches = facts_.matches();
  const match::MatchedOperation& operation = matches.operations[seen.index];
  const std::span<const match::Part> parts = seen.parts;
  std::vector<OfRank>& ranks = of_thread_[thread];
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i == 0 || parts[i].member != parts[i - 1].member) {
      OfRank& rank = ranks[who_.of(operation.communicator, parts[i].member)];
      ++rank.operations;
      ++rank.without_times;
    }
  }
  if (seen.facts.is_impossible) {
    return;
  }
  for (const facts::RankTimes& row : seen.rows) {
    if (!row.has_execution) {
      continue;
    }
    OfRank& rank = ranks[who_.of(operation.communicator, row.member)];
    --rank.without_times;
    // If more than half of its time in the operation is open, its waiting is not known.
    const std::int64_t open_ns =
        subtract_saturating(std::min(row.wait.most_ns, row.wall_ns()), row.wait.least_ns);
    rank.undivided += open_ns > row.wall_ns() / 2 ? 1 : 0;
    rank.open_ns = add_saturating(rank.open_ns, open_ns);
    const model::Execution& one = seen.executions[row.part - operation.first_part];
    const std::int64_t queued_ns =
        row.open_ns > 0 ? 0 : subtract_saturating(*one.start_ns, *call_time(one));
    const std::int64_t call_ns =
        subtract_saturating(row.arrival_ns, std::max<std::int64_t>(queued_ns, 0));
    rank.stays.push_back(
        {call_ns, row.arrival_ns, add_saturating(row.arrival_ns, row.wait.least_ns), row.end_ns});
  }
}

std::vector<RankShares> TimeShares::finish() {
  std::vector<RankShares> ranks(who_.all().size());
  for_each_on_cores(ranks.size(), [&](std::size_t, std::size_t i) {
    RankShares& rank = ranks[i];
    rank.label = who_.all()[i].label;
    rank.host = facts_.traces().files[who_.all()[i].file].process.host;
    // From the call, from the arrival, and from the moment since which nobody was waited for.
    std::array<std::vector<std::pair<std::int64_t, std::int64_t>>, 3> until_end;
    std::int64_t first_ns = std::numeric_limits<std::int64_t>::max();
    std::int64_t last_ns = std::numeric_limits<std::int64_t>::min();
    for (std::vector<OfRank>& of_ranks : of_thread_) {
      const OfRank own = std::move(of_ranks[i]);
      rank.operations += own.operations;
      rank.without_times += own.without_times;
      rank.undivided += own.undivided;
      rank.open_ns = add_saturating(rank.open_ns, own.open_ns);
      for (const Stay& stay : own.stays) {
        if (stay.call_ns < stay.end_ns) {
          until_end[0].emplace_back(stay.call_ns, stay.end_ns);
          until_end[1].emplace_back(stay.arrival_ns, stay.end_ns);
          until_end[2].emplace_back(stay.complete_ns, stay.end_ns);
          first_ns = std::min(first_ns, stay.call_ns);
          last_ns = std::max(last_ns, stay.end_ns);
        }
      }
    }
    // Where a rank does several of these at once, transfer counts before waiting, and both count
    // before being enqueued.
    const std::int64_t called_ns = union_ns(until_end[0]);
    const std::int64_t arrived_ns = union_ns(until_end[1]);
    rank.transfer_ns = union_ns(until_end[2]);
    rank.waiting_ns = arrived_ns - rank.transfer_ns;
    rank.enqueued_ns = called_ns - arrived_ns;
    rank.span_ns = first_ns < last_ns ? subtract_saturating(last_ns, first_ns) : 0;
    rank.outside_ns = rank.span_ns - called_ns;
  });
  std::erase_if(ranks, [](const RankShares& rank) { return rank.operations == 0; });
  std::stable_sort(ranks.begin(), ranks.end(), [](const RankShares& a, const RankShares& b) {
    return number_of(a.label) < number_of(b.label);
  });
  return ranks;
}

}  // namespace ringside::metrics
