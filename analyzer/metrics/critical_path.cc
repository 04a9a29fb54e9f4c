// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/critical_path.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

#include "analyzer/metrics/global_ranks.h"
#include "analyzer/metrics/saturating.h"
#include "analyzer/metrics/timing.h"

namespace ringside::metrics {
namespace {

// An operation as one rank had it; by end on each rank.
struct Visit {
  std::int64_t end_ns = 0;
  std::int64_t start_ns = 0;
  std::uint32_t operation = 0;
  std::uint32_t part = 0;

  bool operator<(const Visit& other) const {
    return std::tie(end_ns, operation, part) < std::tie(other.end_ns, other.operation, other.part);
  }
};

class Walker {
 public:
  Walker(const model::Traces& traces, const match::Matches& matches,
         const align::Alignment& alignment)
      : traces_(traces), matches_(matches), alignment_(alignment), who_(traces, matches) {
    visits_.resize(who_.all().size());
    for (const GlobalRank& rank : who_.all()) {
      RankOnPath& made = path_.ranks.emplace_back();
      made.label = rank.label;
      made.host = traces.files[rank.file].process.host;
    }
    collect();
  }

  CriticalPath walk() {
    std::optional<std::pair<std::uint32_t, Visit>> at = last_of_all();
    std::int64_t until_ns = at ? at->second.end_ns : 0;
    while (at) {
      at = step(at->first, at->second, until_ns);
    }
    finish();
    return std::move(path_);
  }

 private:
  void collect() {
    for (std::uint32_t i = 0; i < matches_.operations.size(); ++i) {
      const match::MatchedOperation& operation = matches_.operations[i];
      for (std::uint32_t k = 0; k < operation.part_count; ++k) {
        const auto number = static_cast<std::uint32_t>(operation.first_part + k);
        const match::Part& part = matches_.parts[number];
        const model::Operation& one = match::operation_of(traces_, part);
        const bool told =
            one.times_from == model::TimesFrom::kGpu || one.times_from == model::TimesFrom::kProxy;
        if (!told || !one.start_ns || !one.end_ns) {
          continue;
        }
        Visit visit;
        visit.start_ns = alignment_.to_common_ns(part.file, *one.start_ns);
        visit.end_ns = std::max(visit.start_ns, alignment_.to_common_ns(part.file, *one.end_ns));
        visit.operation = i;
        visit.part = number;
        visits_[who_.of(operation.communicator, part.member)].push_back(visit);
      }
    }
    for (auto& visits : visits_) {
      std::sort(visits.begin(), visits.end());
    }
  }

  std::optional<std::pair<std::uint32_t, Visit>> last_of_all() const {
    std::optional<std::pair<std::uint32_t, Visit>> last;
    for (std::uint32_t rank = 0; rank < visits_.size(); ++rank) {
      if (!visits_[rank].empty() && (!last || last->second < visits_[rank].back())) {
        last = {rank, visits_[rank].back()};
      }
    }
    return last;
  }

  void add(Spent spent, const Visit& visit, std::uint32_t rank, std::int64_t start_ns,
           std::int64_t end_ns) {
    if (end_ns > start_ns) {
      path_.parts.push_back({spent, visit.operation, rank, start_ns, end_ns});
    }
  }

  // From the end of `visit`, as far as `until_ns`, to the operation before it on the rank that was
  // the last to come.
  std::optional<std::pair<std::uint32_t, Visit>> step(std::uint32_t rank, Visit visit,
                                                      std::int64_t& until_ns) {
    const match::MatchedOperation& operation = matches_.operations[visit.operation];
    ++path_.operations;
    const auto timing = timing_of(traces_, matches_, alignment_, operation);
    // A receive waits for its send, a collective that synchronises for its last rank.
    const bool waits = operation.way == match::Way::kPair || is_synchronising(traces_, operation);
    if (waits && timing && timing->has_ends && !timing->is_impossible &&
        timing->last_start_ns() < until_ns) {
      const match::Part& last = matches_.parts[timing->arrivals.back().part];
      rank = who_.of(operation.communicator, last.member);
      visit.start_ns = timing->last_start_ns();
      visit.part = timing->arrivals.back().part;
      if (timing->is_decided()) {
        RankOnPath& facts = path_.ranks[rank];
        ++facts.arrivals;
        facts.gain_ns = add_saturating(facts.gain_ns, timing->margin_ns());
      } else {
        ++path_.undecided;
      }
    }
    add(Spent::kTransfer, visit, rank, visit.start_ns, until_ns);
    until_ns = std::min(until_ns, visit.start_ns);
    const match::Part& part = matches_.parts[visit.part];
    const model::Operation& one = match::operation_of(traces_, part);
    const std::int64_t called_ns =
        one.enqueue_start_ns
            ? std::min(until_ns, alignment_.to_common_ns(part.file, *one.enqueue_start_ns))
            : until_ns;
    const auto before = before_of(rank, until_ns);
    const std::int64_t free_ns = before ? before->end_ns : called_ns;
    // Called while the operation before still ran: the launch waited for that.
    add(Spent::kLaunch, visit, rank, std::max(called_ns, free_ns), until_ns);
    if (!before) {
      return std::nullopt;
    }
    add(Spent::kApplication, visit, rank, free_ns, std::max(called_ns, free_ns));
    until_ns = free_ns;
    return std::pair{rank, *before};
  }

  // The last on the rank that had ended by then.
  std::optional<Visit> before_of(std::uint32_t rank, std::int64_t until_ns) const {
    Visit limit;
    limit.end_ns = until_ns;
    const auto& visits = visits_[rank];
    const auto found = std::lower_bound(visits.begin(), visits.end(), limit);
    return found == visits.begin() ? std::nullopt : std::optional(*std::prev(found));
  }

  void finish() {
    std::reverse(path_.parts.begin(), path_.parts.end());
    for (const PathPart& part : path_.parts) {
      const std::int64_t length_ns = part.end_ns - part.start_ns;
      path_.spent_ns[static_cast<std::size_t>(part.spent)] += length_ns;
      path_.ranks[part.rank].spent_ns[static_cast<std::size_t>(part.spent)] += length_ns;
      path_.length_ns += length_ns;
    }
    // The parts name ranks by index, so those move along.
    std::vector<std::uint32_t> order(path_.ranks.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) {
      order[i] = i;
    }
    const auto total = [&](std::uint32_t i) {
      std::int64_t sum_ns = 0;
      for (const std::int64_t spent_ns : path_.ranks[i].spent_ns) {
        sum_ns += spent_ns;
      }
      return sum_ns;
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return total(a) > total(b); });
    std::vector<RankOnPath> sorted;
    std::vector<std::uint32_t> moved(order.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) {
      moved[order[i]] = i;
      sorted.push_back(std::move(path_.ranks[order[i]]));
    }
    path_.ranks = std::move(sorted);
    for (PathPart& part : path_.parts) {
      part.rank = moved[part.rank];
    }
  }

  const model::Traces& traces_;
  const match::Matches& matches_;
  const align::Alignment& alignment_;
  const GlobalRanks who_;
  std::vector<std::vector<Visit>> visits_;
  CriticalPath path_;
};

}  // namespace

CriticalPath find_critical_path(const model::Traces& traces, const match::Matches& matches,
                                const align::Alignment& alignment) {
  return Walker(traces, matches, alignment).walk();
}

}  // namespace ringside::metrics
