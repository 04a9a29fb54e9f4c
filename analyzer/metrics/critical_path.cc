// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/critical_path.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "analyzer/match/executions.h"
#include "analyzer/metrics/global_ranks.h"
#include "analyzer/metrics/late_cause.h"
#include "analyzer/model/parallel.h"
#include "analyzer/model/saturating.h"

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
  explicit Walker(const facts::Facts& facts)
      : facts_(facts),
        traces_(facts.traces()),
        matches_(facts.matches()),
        alignment_(facts.alignment()),
        who_(traces_, matches_) {
    visits_.resize(who_.all().size());
    least_launch_ns_.resize(traces_.files.size());
    for (const GlobalRank& rank : who_.all()) {
      RankOnPath& made = path_.ranks.emplace_back();
      made.label = rank.label;
      made.host = traces_.files[rank.file].process.host;
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
    std::vector<std::uint32_t> all(matches_.operations.size());
    std::iota(all.begin(), all.end(), 0U);
    match::Executions memory;
    match::read_executions(traces_, matches_, all, memory, [&](std::size_t i, auto executions) {
      add_visits(static_cast<std::uint32_t>(i), executions);
    });
    for_each_on_cores(visits_.size(), [&](std::size_t, std::size_t rank) {
      std::sort(visits_[rank].begin(), visits_[rank].end());
    });
  }

  void add_visits(std::uint32_t index, std::span<const model::Execution> executions) {
    const match::MatchedOperation& operation = matches_.operations[index];
    for (std::size_t k = 0; k < executions.size(); ++k) {
      const auto number = static_cast<std::uint32_t>(operation.first_part + k);
      const match::Part& part = matches_.parts[number];
      const model::Execution& one = executions[k];
      if (!facts::ran_to_its_end(one)) {
        continue;
      }
      if (one.enqueue_start_ns) {
        const std::int64_t launch_ns =
            std::max<std::int64_t>(subtract_saturating(*one.start_ns, *one.enqueue_start_ns), 0);
        auto& least_ns =
            least_launch_ns_[part.file].try_emplace(one.context, launch_ns).first->second;
        least_ns = std::min(least_ns, launch_ns);
      }
      Visit visit;
      visit.start_ns = alignment_.to_common_ns(part.file, *one.start_ns);
      visit.end_ns = add_saturating(
          visit.start_ns,
          std::max<std::int64_t>(subtract_saturating(*one.end_ns, *one.start_ns), 0));
      visit.operation = index;
      visit.part = number;
      visits_[who_.of(operation.communicator, part.member)].push_back(visit);
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

  // From the end of `visit`, as far as `until_ns`, to the operation before it on the rank for which
  // it had to wait.
  std::optional<std::pair<std::uint32_t, Visit>> step(std::uint32_t rank, Visit visit,
                                                      std::int64_t& until_ns) {
    ++path_.operations;
    const std::uint32_t member = matches_.parts[visit.part].member;
    if (const auto cause = late_cause(facts_, visit.operation, member, rows_);
        cause && cause->arrival_ns < until_ns) {
      rank = who_.of(matches_.operations[visit.operation].communicator, cause->member);
      visit.start_ns = cause->arrival_ns;
      visit.part = cause->part;
      if (cause->margin_ns) {
        RankOnPath& known = path_.ranks[rank];
        ++known.arrivals;
        known.gain_ns = add_saturating(known.gain_ns, *cause->margin_ns);
      } else {
        ++path_.undecided;
      }
    }
    add(Spent::kTransfer, visit, rank, visit.start_ns, until_ns);
    until_ns = std::min(until_ns, visit.start_ns);
    return before_start(rank, visit, until_ns);
  }

  // Finds what the rank did before the operation began on it.
  std::optional<std::pair<std::uint32_t, Visit>> before_start(std::uint32_t rank,
                                                              const Visit& visit,
                                                              std::int64_t& until_ns) {
    const match::Part& part = matches_.parts[visit.part];
    const model::Operation& one = match::operation_of(traces_, part);
    const std::int64_t called_ns =
        one.enqueue_start_ns
            ? std::min(until_ns, alignment_.to_common_ns(part.file, *one.enqueue_start_ns))
            : until_ns;
    const auto before = before_of(rank, until_ns);
    const std::int64_t free_ns = before ? before->end_ns : called_ns;
    const std::int64_t queued_ns = std::max(called_ns, free_ns);
    // A call that found the stream free is launched within the least time that any took. Beyond
    // that time the stream did something else. If the operation before still ran at the call, the
    // stream did something else all the time.
    const std::int64_t launched_ns =
        called_ns >= free_ns ? add_saturating(queued_ns, least_launch_ns(part, one)) : queued_ns;
    add(Spent::kStream, visit, rank, std::min(launched_ns, until_ns), until_ns);
    add(Spent::kLaunch, visit, rank, queued_ns, std::min(launched_ns, until_ns));
    if (!before) {
      return std::nullopt;
    }
    add(Spent::kApplication, visit, rank, free_ns, queued_ns);
    until_ns = free_ns;
    return std::pair{rank, *before};
  }

  // The least time from a call of that rank to its start.
  std::int64_t least_launch_ns(const match::Part& part, const model::Operation& operation) const {
    const auto& of_file = least_launch_ns_[part.file];
    const auto found = of_file.find(operation.context);
    return found == of_file.end() ? 0 : found->second;
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

  const facts::Facts& facts_;
  const model::Traces& traces_;
  const match::Matches& matches_;
  const align::Alignment& alignment_;
  const GlobalRanks who_;
  std::vector<std::vector<Visit>> visits_;
  std::vector<std::map<std::uint32_t, std::int64_t>> least_launch_ns_;  // by file, by context
  std::vector<facts::RankTimes> rows_;                                  // of one operation
  CriticalPath path_;
};

}  // namespace

CriticalPath find_critical_path(const facts::Facts& facts) {
  return Walker(facts).walk();
}

}  // namespace ringside::metrics
