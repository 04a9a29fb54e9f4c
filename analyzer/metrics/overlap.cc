// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/overlap.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "analyzer/metrics/global_ranks.h"
#include "analyzer/metrics/saturating.h"
#include "analyzer/metrics/timing.h"

namespace ringside::metrics {
namespace {

// Where an operation of a communicator begins or ends on a rank.
struct Edge {
  std::int64_t time_ns = 0;
  int change = 0;  // +1 begins, -1 ends
  std::uint32_t communicator = 0;
};

bool has_execution(const model::Operation& operation) {
  const bool told = operation.times_from == model::TimesFrom::kGpu ||
                    operation.times_from == model::TimesFrom::kProxy;
  return told && operation.start_ns && operation.end_ns;
}

using Pairs = std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t>;

// Sweeps over one rank's edges in order of time.
void sweep(std::vector<Edge>& edges, RankOverlap& rank, Overlap& result, Pairs& pairs) {
  std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) {
    return std::tie(a.time_ns, a.change, a.communicator) <
           std::tie(b.time_ns, b.change, b.communicator);
  });
  std::map<std::uint32_t, int> running;  // operations by communicator; only those that run
  for (std::size_t i = 0; i < edges.size(); ++i) {
    const Edge& edge = edges[i];
    const std::int64_t since_ns =
        i == 0 ? 0 : subtract_saturating(edge.time_ns, edges[i - 1].time_ns);
    rank.busy_ns = add_saturating(rank.busy_ns, running.empty() ? 0 : since_ns);
    rank.together_ns = add_saturating(rank.together_ns, running.size() > 1 ? since_ns : 0);
    for (auto one = running.begin(); one != running.end() && since_ns > 0; ++one) {
      std::int64_t& sum_ns = result.of_communicator[one->first];
      sum_ns = add_saturating(sum_ns, since_ns);
      for (auto other = std::next(one); other != running.end(); ++other) {
        std::int64_t& together_ns = pairs[{one->first, other->first}];
        together_ns = add_saturating(together_ns, since_ns);
      }
    }
    if ((running[edge.communicator] += edge.change) == 0) {
      running.erase(edge.communicator);
    }
  }
  if (!edges.empty()) {
    rank.span_ns = subtract_saturating(edges.back().time_ns, edges.front().time_ns);
  }
}

// Until when a host's ranks may have waited at most: whoever was last, came no later.
class LatestEnd {
 public:
  LatestEnd(const match::Matches& matches, const align::Alignment& alignment, const Timing& timing)
      : alignment_(alignment), last_ns_(timing.last_start_ns()) {
    for (const Arrival& arrival : timing.arrivals) {
      const std::uint32_t file = matches.parts[arrival.part].file;
      const std::int64_t latest_ns = add_saturating(
          arrival.start_ns, alignment.own_uncertainty_ns(file, last_ns_).value_or(0));
      const std::uint32_t host = alignment.host_of(file);
      if (!first_ || latest_ns > first_->second) {
        second_ = first_ && first_->first != host ? first_ : second_;
        first_ = {host, latest_ns};
      } else if (host != first_->first && (!second_ || latest_ns > second_->second)) {
        second_ = {host, latest_ns};
      }
    }
  }

  std::int64_t of(std::uint32_t file) const {
    const auto& other = first_->first != alignment_.host_of(file) ? first_ : second_;
    const std::int64_t own_ns = alignment_.own_uncertainty_ns(file, last_ns_).value_or(0);
    return other ? std::max(last_ns_, add_saturating(other->second, own_ns)) : last_ns_;
  }

 private:
  using HostTime = std::pair<std::uint32_t, std::int64_t>;
  const align::Alignment& alignment_;
  std::int64_t last_ns_;
  std::optional<HostTime> first_;   // the latest of all hosts
  std::optional<HostTime> second_;  // of all but that one
};

void add_waiting(const model::Traces& traces, const match::Matches& matches,
                 const align::Alignment& alignment, const match::MatchedOperation& operation,
                 const GlobalRanks& who, Overlap& result) {
  const bool has_all =
      match::ranks_seen(matches, operation) >= match::ranks_expected(matches, operation);
  const auto timing = has_all ? timing_of(traces, matches, alignment, operation) : std::nullopt;
  if (!timing || !timing->has_ends || timing->is_impossible || !timing->uncertainty_ns) {
    std::optional<std::uint32_t> before;
    for (const match::Part& part : match::parts_of(matches, operation)) {
      if (part.member != before) {
        ++result.ranks[who.of(operation.communicator, part.member)].waiting_unknown;
      }
      before = part.member;
    }
    return;
  }
  const std::int64_t last_ns = timing->last_start_ns();
  const std::uint32_t last_file = matches.parts[timing->arrivals.back().part].file;
  const LatestEnd latest(matches, alignment, *timing);
  for (const Arrival& arrival : timing->arrivals) {
    const match::Part& part = matches.parts[arrival.part];
    RankOverlap& rank = result.ranks[who.of(operation.communicator, part.member)];
    const std::int64_t waited_ns = last_ns - arrival.start_ns;
    const std::int64_t less_ns =
        std::min(waited_ns, alignment.uncertainty_ns(part.file, last_file, last_ns).value_or(0));
    const std::int64_t more_ns = subtract_saturating(latest.of(part.file), last_ns);
    ++rank.waiting_known;
    rank.waiting_ns = add_saturating(rank.waiting_ns, waited_ns);
    rank.waiting_uncertainty_ns = add_saturating(
        rank.waiting_uncertainty_ns, add_saturating(std::max(less_ns, more_ns), kStampNoise_ns));
  }
}

}  // namespace

Overlap find_overlap(const model::Traces& traces, const match::Matches& matches,
                     const align::Alignment& alignment) {
  const GlobalRanks who(traces, matches);
  Overlap result;
  std::vector<std::vector<Edge>> edges(who.all().size());
  for (const GlobalRank& rank : who.all()) {
    RankOverlap& made = result.ranks.emplace_back();
    made.label = rank.label;
    made.host = traces.files[rank.file].process.host;
  }
  for (const match::MatchedOperation& operation : matches.operations) {
    for (std::uint32_t i = 0; i < operation.part_count; ++i) {
      const match::Part& part = matches.parts[operation.first_part + i];
      const model::Operation& one = match::operation_of(traces, part);
      const std::uint32_t number = who.of(operation.communicator, part.member);
      RankOverlap& rank = result.ranks[number];
      ++rank.operations;
      if (!has_execution(one)) {
        ++rank.without_times;
        continue;
      }
      const std::int64_t start_ns = alignment.to_common_ns(part.file, *one.start_ns);
      // On the common clock, rounding may turn the shortest around.
      const std::int64_t end_ns =
          std::max(start_ns, alignment.to_common_ns(part.file, *one.end_ns));
      rank.summed_ns = add_saturating(rank.summed_ns, subtract_saturating(end_ns, start_ns));
      edges[number].push_back({start_ns, 1, operation.communicator});
      edges[number].push_back({end_ns, -1, operation.communicator});
    }
    if (is_synchronising(traces, operation) && match::ranks_expected(matches, operation) > 1) {
      add_waiting(traces, matches, alignment, operation, who, result);
    }
  }
  Pairs pairs;
  for (std::size_t i = 0; i < edges.size(); ++i) {
    // An end before its start at one moment: zero-length operations count nothing either way.
    sweep(edges[i], result.ranks[i], result, pairs);
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
