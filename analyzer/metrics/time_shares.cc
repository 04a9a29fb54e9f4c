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
#include "analyzer/metrics/saturating.h"
#include "analyzer/metrics/timing.h"

namespace ringside::metrics {
namespace {

// One operation on one rank; call <= start <= complete <= end.
struct Stages {
  std::int64_t call_ns = 0;
  std::int64_t start_ns = 0;
  std::int64_t complete_ns = 0;  // the last rank had come
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

// The last rank to come, as far as the clocks tell.
struct Last {
  std::uint32_t file = 0;
  std::int64_t start_ns = 0;
};

// Nothing where that cannot be told.
std::optional<Last> last_of(const model::Traces& traces, const match::Matches& matches,
                            const align::Alignment& alignment,
                            const match::MatchedOperation& operation) {
  if (match::ranks_seen(matches, operation) < match::ranks_expected(matches, operation)) {
    return std::nullopt;
  }
  const auto timing = timing_of(traces, matches, alignment, operation);
  if (!timing || !timing->has_ends || timing->is_impossible || !timing->uncertainty_ns) {
    return std::nullopt;
  }
  return Last{matches.parts[timing->arrivals.back().part].file, timing->last_start_ns()};
}

// Until when a rank surely waited: whoever was last, it came no sooner.
std::optional<std::int64_t> sure_until(const align::Alignment& alignment, std::uint32_t file,
                                       const Last& last) {
  const auto uncertainty_ns = alignment.uncertainty_ns(file, last.file, last.start_ns);
  return uncertainty_ns ? std::optional(subtract_saturating(last.start_ns, *uncertainty_ns))
                        : std::nullopt;
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

std::vector<RankShares> find_time_shares(const model::Traces& traces, const match::Matches& matches,
                                         const align::Alignment& alignment) {
  const GlobalRanks who(traces, matches);
  std::vector<RankShares> ranks(who.all().size());
  std::vector<std::vector<Stages>> stages(ranks.size());
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    ranks[i].label = who.all()[i].label;
    ranks[i].host = traces.files[who.all()[i].file].process.host;
  }
  for (const match::MatchedOperation& operation : matches.operations) {
    const bool waits =
        is_synchronising(traces, operation) && match::ranks_expected(matches, operation) > 1;
    const auto last = waits ? last_of(traces, matches, alignment, operation) : std::nullopt;
    for (const match::Part& part : match::parts_of(matches, operation)) {
      const std::uint32_t number = who.of(operation.communicator, part.member);
      RankShares& rank = ranks[number];
      const model::Operation one = match::operation_of(traces, part);
      ++rank.operations;
      if (!ran_to_its_end(one)) {
        ++rank.without_times;
        continue;
      }
      const auto complete_ns = last ? sure_until(alignment, part.file, *last) : std::nullopt;
      rank.undivided += waits && !complete_ns ? 1 : 0;
      Stages& made = stages[number].emplace_back();
      made.start_ns = alignment.to_common_ns(part.file, *one.start_ns);
      // On the common clock, rounding may turn the shortest around.
      made.end_ns = std::max(made.start_ns, alignment.to_common_ns(part.file, *one.end_ns));
      made.call_ns = std::min(made.start_ns, alignment.to_common_ns(part.file, *call_time(one)));
      made.complete_ns =
          std::clamp(complete_ns.value_or(made.start_ns), made.start_ns, made.end_ns);
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
