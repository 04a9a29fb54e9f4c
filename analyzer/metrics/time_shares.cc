// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/time_shares.h"

#include <algorithm>
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

// The activity of a rank at a moment. If there are several, the first of these counts.
enum Doing : std::uint8_t { kTransfer, kWaiting, kEnqueued };

void add_doing(std::vector<Edge>& edges, Doing doing, std::int64_t from_ns, std::int64_t to_ns) {
  if (from_ns < to_ns) {
    add_edges(edges, doing, from_ns, to_ns);
  }
}

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
  const auto parts = match::parts_of(matches, operation);
  std::vector<OfRank>& ranks = of_thread_[thread];
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i == 0 || parts[i].member != parts[i - 1].member) {
      RankShares& rank = ranks[who_.of(operation.communicator, parts[i].member)].shares;
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
    auto& [rank, stays] = ranks[who_.of(operation.communicator, row.member)];
    --rank.without_times;
    // If more than half of its time in the operation is open, its waiting is not known.
    const std::int64_t open_ns = subtract_saturating(row.wait.most_ns, row.wait.least_ns);
    rank.undivided += open_ns > row.wall_ns() / 2 ? 1 : 0;
    rank.open_ns = add_saturating(rank.open_ns, open_ns);
    const model::Execution& one = seen.executions[row.part - operation.first_part];
    const std::int64_t queued_ns =
        row.open_ns > 0 ? 0 : subtract_saturating(*one.start_ns, *call_time(one));
    const std::int64_t call_ns =
        subtract_saturating(row.arrival_ns, std::max<std::int64_t>(queued_ns, 0));
    stays.push_back(
        {call_ns, row.arrival_ns, add_saturating(row.arrival_ns, row.wait.least_ns), row.end_ns});
  }
}

std::vector<RankShares> TimeShares::finish() {
  std::vector<RankShares> ranks(who_.all().size());
  for_each_on_cores(ranks.size(), [&](std::size_t, std::size_t i) {
    RankShares& rank = ranks[i];
    rank.label = who_.all()[i].label;
    rank.host = facts_.traces().files[who_.all()[i].file].process.host;
    std::vector<Edge> edges;
    for (std::vector<OfRank>& of_ranks : of_thread_) {
      const OfRank own = std::move(of_ranks[i]);
      rank.operations += own.shares.operations;
      rank.without_times += own.shares.without_times;
      rank.undivided += own.shares.undivided;
      rank.open_ns = add_saturating(rank.open_ns, own.shares.open_ns);
      for (const Stay& stay : own.stays) {
        add_doing(edges, kEnqueued, stay.call_ns, stay.arrival_ns);
        add_doing(edges, kWaiting, stay.arrival_ns, stay.complete_ns);
        add_doing(edges, kTransfer, stay.complete_ns, stay.end_ns);
      }
    }
    // The kinds are in the order in which they count.
    rank.span_ns = sweep(edges, [&](std::int64_t since_ns, const auto& running) {
      const std::uint32_t first = running.empty() ? kEnqueued + 1 : running.begin()->first;
      std::int64_t& sum_ns = first == kTransfer   ? rank.transfer_ns
                             : first == kWaiting  ? rank.waiting_ns
                             : first == kEnqueued ? rank.enqueued_ns
                                                  : rank.outside_ns;
      sum_ns = add_saturating(sum_ns, since_ns);
    });
  });
  std::erase_if(ranks, [](const RankShares& rank) { return rank.operations == 0; });
  std::stable_sort(ranks.begin(), ranks.end(), [](const RankShares& a, const RankShares& b) {
    return number_of(a.label) < number_of(b.label);
  });
  return ranks;
}

}  // namespace ringside::metrics
