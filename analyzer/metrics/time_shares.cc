// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/time_shares.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string_view>

#include "analyzer/metrics/global_ranks.h"
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

std::vector<RankShares> find_time_shares(const facts::Facts& facts) {
  const model::Traces& traces = facts.traces();
  const match::Matches& matches = facts.matches();
  const GlobalRanks who(traces, matches);
  std::vector<RankShares> ranks(who.all().size());
  std::vector<std::vector<Edge>> edges(ranks.size());
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    ranks[i].label = who.all()[i].label;
    ranks[i].host = traces.files[who.all()[i].file].process.host;
  }
  std::vector<facts::RankTimes> rows;
  for (std::size_t i = 0; i < matches.operations.size(); ++i) {
    const match::MatchedOperation& operation = matches.operations[i];
    const auto parts = match::parts_of(matches, operation);
    for (std::size_t k = 0; k < parts.size(); ++k) {
      if (k == 0 || parts[k].member != parts[k - 1].member) {
        RankShares& rank = ranks[who.of(operation.communicator, parts[k].member)];
        ++rank.operations;
        ++rank.without_times;
      }
    }
    if (facts.ranks_of(i, rows).is_impossible) {
      continue;
    }
    for (const facts::RankTimes& row : rows) {
      if (!row.has_execution) {
        continue;
      }
      const std::uint32_t number = who.of(operation.communicator, row.member);
      RankShares& rank = ranks[number];
      --rank.without_times;
      // If more than half of its time in the operation is open, its waiting is not known.
      const std::int64_t open_ns = subtract_saturating(row.wait.most_ns, row.wait.least_ns);
      rank.undivided += open_ns > row.wall_ns() / 2 ? 1 : 0;
      rank.open_ns = add_saturating(rank.open_ns, open_ns);
      const model::Execution one = match::execution_of(traces, matches.parts[row.part]);
      const std::int64_t queued_ns = subtract_saturating(*one.start_ns, *call_time(one));
      const std::int64_t call_ns =
          subtract_saturating(row.arrival_ns, std::max<std::int64_t>(queued_ns, 0));
      const std::int64_t complete_ns = add_saturating(row.arrival_ns, row.wait.least_ns);
      add_doing(edges[number], kEnqueued, call_ns, row.arrival_ns);
      add_doing(edges[number], kWaiting, row.arrival_ns, complete_ns);  // surely
      add_doing(edges[number], kTransfer, complete_ns, row.end_ns);
    }
  }
  for_each_on_cores(ranks.size(), [&](std::size_t, std::size_t i) {
    RankShares& rank = ranks[i];
    // The kinds are in the order in which they count.
    rank.span_ns = sweep(edges[i], [&](std::int64_t since_ns, const auto& running) {
      const std::uint32_t first = running.empty() ? kEnqueued + 1 : running.begin()->first;
      std::int64_t& sum_ns = first == kTransfer   ? rank.transfer_ns
                             : first == kWaiting  ? rank.waiting_ns
                             : first == kEnqueued ? rank.enqueued_ns
                                                  : rank.outside_ns;
      sum_ns = add_saturating(sum_ns, since_ns);
    });
    edges[i] = {};
  });
  std::erase_if(ranks, [](const RankShares& rank) { return rank.operations == 0; });
  std::stable_sort(ranks.begin(), ranks.end(), [](const RankShares& a, const RankShares& b) {
    return number_of(a.label) < number_of(b.label);
  });
  return ranks;
}

}  // namespace ringside::metrics
