// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/critical_path.h"

#include <algorithm>
#include <numeric>
#include <span>

#include "analyzer/model/parallel.h"
#include "analyzer/model/saturating.h"

namespace ringside::metrics {

PathFinder::PathFinder(const facts::Facts& facts)
    : traces_(facts.traces()),
      matches_(facts.matches()),
      alignment_(facts.alignment()),
      who_(traces_, matches_),
      of_thread_(core_count()) {
  for (OfThread& own : of_thread_) {
    own.visits.resize(who_.all().size());
    own.launches.resize(traces_.files.size());
  }
  for (const GlobalRank& rank : who_.all()) {
    RankOnPath& made = path_.ranks.emplace_back();
    made.label = rank.label;
    made.host = traces_.files[rank.file].process.host;
  }
}

void PathFinder::add(std::size_t thread, const facts::SeenOperation& seen) {
  const match::MatchedOperation& operation = matches_.operations[seen.index];
  OfThread& own = of_thread_[thread];
  find_causes(seen, matches_.communicators[operation.communicator].members.size(), own);
  const auto add = [&](std::uint32_t member, std::uint32_t file, std::size_t part,
                       const std::optional<std::int64_t>& end_ns) {
    const model::Execution& one = seen.executions[part - operation.first_part];
    if (one.enqueue_start_ns) {
      const std::int64_t launch_ns =
          std::max<std::int64_t>(subtract_saturating(*one.start_ns, *one.enqueue_start_ns), 0);
      lower(own.launches[file], {one.context, launch_ns});
    }
    own.visits[who_.of(operation.communicator, member)].push_back(
        {end_ns ? *end_ns : end_of(file, one), seen.index, static_cast<std::uint32_t>(part),
         own.cause_of_member[member]});
  };
  if (seen.rows.size() == operation.part_count) {  // none is of several parts
    for (const facts::RankTimes& row : seen.rows) {
      const bool has_end = row.open_ns == 0 && traces_.files[row.file].process.tells_start;
      if (row.has_execution) {
        add(row.member, row.file, row.part, has_end ? std::optional(row.end_ns) : std::nullopt);
      }
    }
    return;
  }
  for (std::size_t i = 0; i < seen.executions.size(); ++i) {
    const match::Part part = seen.parts[i];
    if (facts::ran_to_its_end(seen.executions[i])) {
      add(part.member, part.file, operation.first_part + i, std::nullopt);
    }
  }
}

std::int64_t PathFinder::end_of(std::uint32_t file, const model::Execution& one) const {
  return add_saturating(alignment_.to_common_ns(file, *one.start_ns),
                        std::max<std::int64_t>(subtract_saturating(*one.end_ns, *one.start_ns), 0));
}

void PathFinder::lower(std::vector<Launch>& launches, const Launch& launch) {
  const auto found = std::find_if(launches.begin(), launches.end(), [&](const Launch& known) {
    return known.context == launch.context;
  });
  if (found == launches.end()) {
    launches.push_back(launch);
  } else {
    found->least_ns = std::min(found->least_ns, launch.least_ns);
  }
}

// Finds for each member of the communicator its cause in the operation.
void PathFinder::find_causes(const facts::SeenOperation& seen, std::size_t members,
                             OfThread& own) const {
  own.late.read(seen.facts, seen.rows);
  own.cause_of_member.assign(members, kNoCause);
  own.cause_of_row.assign(seen.rows.size(), kNoCause);
  for (std::uint32_t row = 0; row < seen.rows.size(); ++row) {
    const std::uint32_t last = own.late.row_for(row);
    if (last == facts::RankTimes::kNobody) {
      continue;
    }
    if (own.cause_of_row[last] == kNoCause) {
      own.cause_of_row[last] = static_cast<std::uint32_t>(own.causes.size());
      own.causes.push_back(own.late.cause(last));
    }
    own.cause_of_member[seen.rows[row].member] = own.cause_of_row[last];
  }
}

CriticalPath PathFinder::find() {
  put_together();
  std::optional<std::pair<std::uint32_t, Visit>> at = last_of_all();
  std::int64_t until_ns = at ? at->second.end_ns : 0;
  while (at) {
    at = step(at->first, at->second, until_ns);
  }
  finish();
  return std::move(path_);
}

void PathFinder::put_together() {
  std::vector<std::uint32_t> first_cause;  // of each thread
  for (OfThread& own : of_thread_) {
    first_cause.push_back(static_cast<std::uint32_t>(causes_.size()));
    causes_.insert(causes_.end(), own.causes.begin(), own.causes.end());
    own.causes = {};
  }
  visits_.resize(who_.all().size());
  for_each_on_cores(visits_.size(), [&](std::size_t, std::size_t rank) {
    std::vector<Visit>& all = visits_[rank];
    for (std::size_t thread = 0; thread < of_thread_.size(); ++thread) {
      for (Visit visit : std::exchange(of_thread_[thread].visits[rank], {})) {
        visit.cause += visit.cause == kNoCause ? 0 : first_cause[thread];
        all.push_back(visit);
      }
    }
    std::sort(all.begin(), all.end());
  });
  launches_ = std::move(of_thread_.front().launches);
  for (std::size_t thread = 1; thread < of_thread_.size(); ++thread) {
    for (std::size_t file = 0; file < launches_.size(); ++file) {
      for (const Launch& launch : of_thread_[thread].launches[file]) {
        lower(launches_[file], launch);
      }
    }
  }
}

std::optional<std::pair<std::uint32_t, PathFinder::Visit>> PathFinder::last_of_all() const {
  std::optional<std::pair<std::uint32_t, Visit>> last;
  for (std::uint32_t rank = 0; rank < visits_.size(); ++rank) {
    if (!visits_[rank].empty() && (!last || last->second < visits_[rank].back())) {
      last = {rank, visits_[rank].back()};
    }
  }
  return last;
}

void PathFinder::add_part(Spent spent, const Visit& visit, std::uint32_t rank,
                          std::int64_t start_ns, std::int64_t end_ns) {
  if (end_ns > start_ns) {
    path_.parts.push_back({spent, visit.operation, rank, start_ns, end_ns});
  }
}

// From the end of `visit`, as far as `until_ns`, to the operation before it on the rank for which
// it had to wait.
std::optional<std::pair<std::uint32_t, PathFinder::Visit>> PathFinder::step(
    std::uint32_t rank, Visit visit, std::int64_t& until_ns) {
  ++path_.operations;
  const match::Part part = matches_.parts[visit.part];
  std::int64_t start_ns =
      alignment_.to_common_ns(part.file, *match::execution_of(traces_, part).start_ns);
  if (visit.cause != kNoCause && causes_[visit.cause].arrival_ns < until_ns) {
    const LateCause& cause = causes_[visit.cause];
    rank = who_.of(matches_.operations[visit.operation].communicator, cause.member);
    start_ns = cause.arrival_ns;
    visit.part = cause.part;
    if (cause.margin_ns) {
      RankOnPath& known = path_.ranks[rank];
      ++known.arrivals;
      known.gain_ns = add_saturating(known.gain_ns, *cause.margin_ns);
    } else {
      ++path_.undecided;
    }
  }
  add_part(Spent::kTransfer, visit, rank, start_ns, until_ns);
  until_ns = std::min(until_ns, start_ns);
  return before_start(rank, visit, until_ns);
}

// Finds what the rank did before the operation began on it.
std::optional<std::pair<std::uint32_t, PathFinder::Visit>> PathFinder::before_start(
    std::uint32_t rank, const Visit& visit, std::int64_t& until_ns) {
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
  add_part(Spent::kStream, visit, rank, std::min(launched_ns, until_ns), until_ns);
  add_part(Spent::kLaunch, visit, rank, queued_ns, std::min(launched_ns, until_ns));
  if (!before) {
    return std::nullopt;
  }
  add_part(Spent::kApplication, visit, rank, free_ns, queued_ns);
  until_ns = free_ns;
  return std::pair{rank, *before};
}

// The least time from a call of that rank to its start.
std::int64_t PathFinder::least_launch_ns(const match::Part& part,
                                         const model::Operation& operation) const {
  for (const Launch& launch : launches_[part.file]) {
    if (launch.context == operation.context) {
      return launch.least_ns;
    }
  }
  return 0;
}

// The last on the rank that had ended by then.
std::optional<PathFinder::Visit> PathFinder::before_of(std::uint32_t rank,
                                                       std::int64_t until_ns) const {
  Visit limit;
  limit.end_ns = until_ns;
  const auto& visits = visits_[rank];
  const auto found = std::lower_bound(visits.begin(), visits.end(), limit);
  return found == visits.begin() ? std::nullopt : std::optional(*std::prev(found));
}

void PathFinder::finish() {
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

CriticalPath find_critical_path(const facts::Facts& facts) {
  constexpr std::size_t kPortion = 256;
  PathFinder finder(facts);
  const std::size_t count = facts.matches().operations.size();
  for_each_on_cores(count / kPortion + 1, [&](std::size_t thread, std::size_t portion) {
    facts.ranks_of_each(
        match::portion_of(portion * kPortion, kPortion, count),
        [&](std::size_t, const facts::SeenOperation& seen) { finder.add(thread, seen); });
  });
  return finder.find();
}

}  // namespace ringside::metrics
