// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/overlap.h"

#include <algorithm>
#include <optional>

#include "analyzer/metrics/global_ranks.h"
#include "analyzer/metrics/interval_sweep.h"
#include "analyzer/model/saturating.h"

namespace ringside::metrics {
namespace {

bool has_execution(const model::Operation& operation) {
  return model::tells_execution(operation.times_from) && operation.start_ns && operation.end_ns;
}

using Pairs = std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t>;

// Adds the overlap of one rank. The kind of an edge is its communicator.
void add_overlap(std::vector<Edge>& edges, RankOverlap& rank, Overlap& result, Pairs& pairs) {
  rank.span_ns = sweep(edges, [&](std::int64_t since_ns, const auto& running) {
    rank.busy_ns = add_saturating(rank.busy_ns, running.empty() ? 0 : since_ns);
    rank.together_ns = add_saturating(rank.together_ns, running.size() > 1 ? since_ns : 0);
    for (auto one = running.begin(); one != running.end(); ++one) {
      std::int64_t& sum_ns = result.of_communicator[one->first];
      sum_ns = add_saturating(sum_ns, since_ns);
      for (auto other = std::next(one); other != running.end(); ++other) {
        std::int64_t& together_ns = pairs[{one->first, other->first}];
        together_ns = add_saturating(together_ns, since_ns);
      }
    }
  });
}

// When one rank waited. A rank waits once in operations that run at the same time.
class Waiting {
 public:
  void add(const facts::RankTimes& row) {
    add(best_, row.arrival_ns, row.best_wait_ns);
    add(least_, row.latest_ns(), row.wait.least_ns);
    add(most_, row.earliest_ns(), row.wait.most_ns);
  }
  void finish(RankOverlap& rank) {
    rank.waiting_least_ns = union_ns(least_);
    rank.waiting_most_ns = std::max(union_ns(most_), rank.waiting_least_ns);
    rank.waiting_ns = std::clamp(union_ns(best_), rank.waiting_least_ns, rank.waiting_most_ns);
  }

 private:
  using Intervals = std::vector<std::pair<std::int64_t, std::int64_t>>;

  static void add(Intervals& intervals, std::int64_t from_ns, std::int64_t waited_ns) {
    if (waited_ns > 0) {
      intervals.emplace_back(from_ns, add_saturating(from_ns, waited_ns));
    }
  }

  Intervals best_;
  Intervals least_;
  Intervals most_;
};

}  // namespace

Overlap find_overlap(const facts::Facts& facts) {
  const model::Traces& traces = facts.traces();
  const match::Matches& matches = facts.matches();
  const GlobalRanks who(traces, matches);
  Overlap result;
  std::vector<std::vector<Edge>> edges(who.all().size());
  std::vector<Waiting> waiting(who.all().size());
  for (const GlobalRank& rank : who.all()) {
    RankOverlap& made = result.ranks.emplace_back();
    made.label = rank.label;
    made.host = traces.files[rank.file].process.host;
  }
  std::vector<facts::RankTimes> rows;
  for (std::size_t i = 0; i < matches.operations.size(); ++i) {
    const match::MatchedOperation& operation = matches.operations[i];
    for (const match::Part& part : match::parts_of(matches, operation)) {
      const model::Operation& one = match::operation_of(traces, part);
      const std::uint32_t number = who.of(operation.communicator, part.member);
      RankOverlap& rank = result.ranks[number];
      ++rank.operations;
      if (!has_execution(one)) {
        ++rank.without_times;
        continue;
      }
      const std::int64_t start_ns = facts.alignment().to_common_ns(part.file, *one.start_ns);
      const std::int64_t duration_ns =
          std::max<std::int64_t>(subtract_saturating(*one.end_ns, *one.start_ns), 0);
      rank.summed_ns = add_saturating(rank.summed_ns, duration_ns);
      add_edges(edges[number], operation.communicator, start_ns,
                add_saturating(start_ns, duration_ns));
    }
    const bool is_impossible = facts.ranks_of(i, rows).is_impossible;
    for (const facts::RankTimes& row : rows) {
      const std::uint32_t number = who.of(operation.communicator, row.member);
      if (is_impossible) {
        ++result.ranks[number].waiting_unknown;
      } else if (row.has_execution) {
        waiting[number].add(row);
      }
    }
  }
  Pairs pairs;
  for (std::size_t i = 0; i < edges.size(); ++i) {
    add_overlap(edges[i], result.ranks[i], result, pairs);
    waiting[i].finish(result.ranks[i]);
  }
  for (const auto& [pair, together_ns] : pairs) {
    result.pairs.push_back({pair.first, pair.second, together_ns});
  }
  std::stable_sort(
      result.pairs.begin(), result.pairs.end(),
      [](const PairOverlap& a, const PairOverlap& b) { return a.together_ns > b.together_ns; });
  return result;
}

}  // namespace ringside::metrics
