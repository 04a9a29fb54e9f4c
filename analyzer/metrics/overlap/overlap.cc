// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/overlap/overlap.h"

#include <algorithm>
#include <utility>

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

// Most first; by communicator where that is equal.
std::vector<PairOverlap> ordered(const Pairs& pairs) {
  std::vector<PairOverlap> made;
  for (const auto& [pair, together_ns] : pairs) {
    made.push_back({pair.first, pair.second, together_ns});
  }
  std::stable_sort(made.begin(), made.end(), [](const PairOverlap& a, const PairOverlap& b) {
    return a.together_ns > b.together_ns;
  });
  return made;
}

}  // namespace

Overlap find_overlap(const facts::Facts& facts) {
  const model::Traces& traces = facts.traces();
  const match::Matches& matches = facts.matches();
  const GlobalRanks who(traces, matches);
  Overlap result;
  std::vector<std::vector<Edge>> edges(who.all().size());
  for (const GlobalRank& rank : who.all()) {
    RankOverlap& made = result.ranks.emplace_back();
    made.label = rank.label;
    made.host = traces.files[rank.file].process.host;
    made.file = rank.file;
  }
  for (const match::MatchedOperation& operation : matches.operations) {
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
  }
  Pairs pairs;
  for (std::size_t i = 0; i < edges.size(); ++i) {
    add_overlap(edges[i], result.ranks[i], result, pairs);
    edges[i] = {};
  }
  result.pairs = ordered(pairs);
  return result;
}

}  // namespace ringside::metrics
