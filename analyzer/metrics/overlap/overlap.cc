// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/overlap/overlap.h"

#include <algorithm>
#include <utility>

#include "analyzer/metrics/global_ranks.h"
#include "analyzer/metrics/interval_sweep.h"
#include "analyzer/metrics/merge_runs.h"
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

// When a rank waited in one operation. Intervals begin at a moment and have a length; a length of
// 0: it did not wait.
struct Wait {
  std::int64_t arrival_ns = 0;  // the best guess
  std::int64_t best_ns = 0;
  std::int64_t latest_ns = 0;  // the least
  std::int64_t least_ns = 0;
  std::int64_t earliest_ns = 0;  // the most
  std::int64_t most_ns = 0;
  std::int64_t last_ns = 0;  // the last moment at which it may have waited
  std::uint32_t communicator = 0;
};

// Sums up when a rank waited. It waits once in operations that run at the same time.
class RankWaits {
 public:
  void add(const Wait& wait);
  // To be called once.
  void finish(RankOverlap& rank);

 private:
  using Intervals = std::vector<std::pair<std::int64_t, std::int64_t>>;

  // A wait that is possible: as long as this, and at any time up to `last_ns`.
  struct Possible {
    std::int64_t from_ns = 0;
    std::int64_t until_ns = 0;
    std::int64_t last_ns = 0;
    std::uint32_t communicator = 0;

    bool operator<(const Possible& other) const { return from_ns < other.from_ns; }
  };

  std::int64_t most_ns();

  Intervals best_;
  Intervals least_;
  std::vector<Possible> most_;
};

// Finds all but the waiting.
Overlap find_running(const facts::Facts& facts) {
  const model::Traces& traces = facts.traces();
  const match::Matches& matches = facts.matches();
  const GlobalRanks who(traces, matches);
  Overlap result;
  std::vector<std::vector<Edge>> edges(who.all().size());
  for (const GlobalRank& rank : who.all()) {
    RankOverlap& made = result.ranks.emplace_back();
    made.label = rank.label;
    made.host = traces.files[rank.file].process.host;
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

// Adds the waits of all ranks, and counts those whose times contradict each other.
void find_waits(const facts::Facts& facts, Overlap& overlap, std::vector<RankWaits>& waits) {
  const match::Matches& matches = facts.matches();
  const GlobalRanks who(facts.traces(), matches);
  std::vector<facts::RankTimes> rows;
  for (std::size_t i = 0; i < matches.operations.size(); ++i) {
    const bool is_impossible = facts.ranks_of(i, rows).is_impossible;
    for (const facts::RankTimes& row : rows) {
      const std::uint32_t rank = who.of(matches.operations[i].communicator, row.member);
      if (is_impossible) {
        ++overlap.ranks[rank].waiting_unknown;
      } else if (row.has_execution &&
                 std::max({row.best_wait_ns, row.wait.least_ns, row.wait.most_ns}) > 0) {
        waits[rank].add({row.arrival_ns, row.best_wait_ns, row.latest_ns(), row.wait.least_ns,
                         row.earliest_ns(), row.wait.most_ns, row.waits_until_ns(row.wait.most_ns),
                         matches.operations[i].communicator});
      }
    }
  }
}

void RankWaits::add(const Wait& wait) {
  const auto add = [](Intervals& intervals, std::int64_t from_ns, std::int64_t waited_ns) {
    if (waited_ns > 0) {
      intervals.emplace_back(from_ns, add_saturating(from_ns, waited_ns));
    }
  };
  add(best_, wait.arrival_ns, wait.best_ns);
  add(least_, wait.latest_ns, wait.least_ns);
  if (wait.most_ns > 0) {
    const std::int64_t until_ns = add_saturating(wait.earliest_ns, wait.most_ns);
    most_.push_back(
        {wait.earliest_ns, until_ns, std::max(until_ns, wait.last_ns), wait.communicator});
  }
}

// Stamps of one communicator err alike, so its waits overlap as they seem to. The waits of two
// communicators may be apart though they seem to overlap. Then all of both counts, but no more than
// there is from the first moment at which the rank may have waited to the last.
std::int64_t RankWaits::most_ns() {
  merge_runs(most_);
  std::int64_t total_ns = 0;
  std::map<std::uint32_t, std::int64_t> until_ns;  // by communicator
  for (std::size_t first = 0; first < most_.size();) {
    std::int64_t sum_ns = 0;
    std::int64_t last_ns = most_[first].last_ns;
    std::size_t i = first;
    for (; i < most_.size() && most_[i].from_ns <= last_ns; ++i) {
      const Possible& wait = most_[i];
      const auto known = until_ns.try_emplace(wait.communicator, wait.from_ns).first;
      const std::int64_t from_ns = std::max(wait.from_ns, known->second);
      if (wait.until_ns > from_ns) {
        sum_ns = add_saturating(sum_ns, subtract_saturating(wait.until_ns, from_ns));
        known->second = wait.until_ns;
      }
      last_ns = std::max(last_ns, wait.last_ns);
    }
    const std::int64_t span_ns = subtract_saturating(last_ns, most_[first].from_ns);
    total_ns = add_saturating(total_ns, std::min(sum_ns, span_ns));
    first = i;
  }
  return total_ns;
}

void RankWaits::finish(RankOverlap& rank) {
  rank.waiting_least_ns = union_ns(least_);
  rank.waiting_most_ns = std::max(most_ns(), rank.waiting_least_ns);
  rank.waiting_ns = std::clamp(union_ns(best_), rank.waiting_least_ns, rank.waiting_most_ns);
}

}  // namespace

Overlap find_overlap(const facts::Facts& facts) {
  Overlap overlap = find_running(facts);
  std::vector<RankWaits> waits(overlap.ranks.size());
  find_waits(facts, overlap, waits);
  for (std::size_t i = 0; i < waits.size(); ++i) {
    std::exchange(waits[i], {}).finish(overlap.ranks[i]);
  }
  return overlap;
}

}  // namespace ringside::metrics
