// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/time_shares.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <string_view>
#include <tuple>

#include "analyzer/metrics/global_ranks.h"
#include "analyzer/metrics/own_calls.h"
#include "analyzer/model/saturating.h"

namespace ringside::metrics {
namespace {

// One operation on one rank; call <= start <= complete <= end.
struct Stages {
  std::int64_t call_ns = 0;
  std::int64_t start_ns = 0;
  std::int64_t complete_ns = 0;  // it surely waited until then
  std::int64_t end_ns = 0;
};

// What a rank does at a moment, the one that counts first.
enum Doing : std::uint8_t { kTransfer, kWaiting, kEnqueued, kDoings };

struct DoingEdge {
  std::int64_t time_ns = 0;
  Doing doing = kTransfer;
  int change = 0;
};

void add_edges(std::vector<DoingEdge>& edges, Doing doing, std::int64_t from_ns,
               std::int64_t to_ns) {
  if (from_ns < to_ns) {
    edges.push_back({from_ns, doing, 1});
    edges.push_back({to_ns, doing, -1});
  }
}

void sweep(const std::vector<Stages>& operations, RankShares& rank) {
  std::vector<DoingEdge> edges;
  edges.reserve(6 * operations.size());
  for (const Stages& one : operations) {
    add_edges(edges, kEnqueued, one.call_ns, one.start_ns);
    add_edges(edges, kWaiting, one.start_ns, one.complete_ns);
    add_edges(edges, kTransfer, one.complete_ns, one.end_ns);
  }
  std::sort(edges.begin(), edges.end(),
            [](const DoingEdge& a, const DoingEdge& b) { return a.time_ns < b.time_ns; });
  std::array<std::int64_t, kDoings> running{};
  for (std::size_t i = 0; i < edges.size(); ++i) {
    if (i > 0) {
      const std::int64_t since_ns = subtract_saturating(edges[i].time_ns, edges[i - 1].time_ns);
      std::int64_t& sum_ns = running[kTransfer] > 0   ? rank.transfer_ns
                             : running[kWaiting] > 0  ? rank.waiting_ns
                             : running[kEnqueued] > 0 ? rank.enqueued_ns
                                                      : rank.outside_ns;
      sum_ns = add_saturating(sum_ns, since_ns);
    }
    running[edges[i].doing] += edges[i].change;
  }
  if (!edges.empty()) {
    rank.span_ns = subtract_saturating(edges.back().time_ns, edges.front().time_ns);
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
  std::vector<std::vector<Stages>> stages(ranks.size());
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
    if (facts.operations()[i].ranks_timed == 0 || facts.operations()[i].is_impossible) {
      continue;
    }
    facts.ranks_of(i, rows);
    for (const facts::RankTimes& row : rows) {
      if (!row.has_execution) {
        continue;
      }
      const std::uint32_t number = who.of(operation.communicator, row.member);
      RankShares& rank = ranks[number];
      --rank.without_times;
      // More than half of its time in the operation is open: nothing is said of its waiting.
      const std::int64_t open_ns = subtract_saturating(row.wait.most_ns, row.wait.least_ns);
      rank.undivided += open_ns > row.wall_ns() / 2 ? 1 : 0;
      rank.open_ns = add_saturating(rank.open_ns, open_ns);
      const model::Operation one = match::operation_of(traces, matches.parts[row.part]);
      const std::int64_t queued_ns = subtract_saturating(*one.start_ns, *call_time(one));
      stages[number].push_back(
          {subtract_saturating(row.arrival_ns, std::max<std::int64_t>(queued_ns, 0)),
           row.arrival_ns, add_saturating(row.arrival_ns, row.wait.least_ns), row.end_ns});
    }
  }
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    sweep(stages[i], ranks[i]);
    stages[i] = {};
  }
  std::erase_if(ranks, [](const RankShares& rank) { return rank.operations == 0; });
  std::stable_sort(ranks.begin(), ranks.end(), [](const RankShares& a, const RankShares& b) {
    return number_of(a.label) < number_of(b.label);
  });
  return ranks;
}

}  // namespace ringside::metrics
