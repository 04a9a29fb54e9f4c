// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/critical_path.h"

#include <algorithm>
#include <numeric>
#include <span>

#include "analyzer/model/parallel.h"
#include "analyzer/model/saturating.h"

namespace ringside::metrics {

namespace {

void add_part(const PathPart& part, CriticalPath& path) {
  if (part.end_ns > part.start_ns) {
    path.parts.push_back(part);
  }
}

void lower(std::vector<Launch>& launches, const Launch& launch) {
  const auto found = std::find_if(launches.begin(), launches.end(), [&](const Launch& known) {
    return known.context == launch.context;
  });
  if (found == launches.end()) {
    launches.push_back(launch);
  } else {
    found->least_ns = std::min(found->least_ns, launch.least_ns);
  }
}

}  // namespace

void take_launches(Launches& launches, const Launches& more) {
  for (std::size_t file = 0; file < launches.size(); ++file) {
    for (const Launch& launch : more[file]) {
      lower(launches[file], launch);
    }
  }
}

PathFinder::PathFinder(const facts::Facts& facts, RowsBy by)
    : traces_(facts.traces()),
      matches_(facts.matches()),
      alignment_(facts.alignment()),
      who_(traces_, matches_),
      of_thread_(core_count()),
      grouping_(traces_, matches_, by) {
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
  for (std::optional<PathPoint> at = last_of_all(); at;) {
    const PathStop stop = arrive(*at);
    at = before(stop.rank, stop.until_ns);
    stop.leave(at, path_);
  }
  path_.finish();
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
    take_launches(launches_, of_thread_[thread].launches);
  }
}

std::vector<std::optional<std::pair<std::int64_t, std::int64_t>>> PathFinder::ends() const {
  std::vector<std::optional<std::pair<std::int64_t, std::int64_t>>> ends;
  for (const std::vector<Visit>& visits : visits_) {
    auto& own = ends.emplace_back();
    if (!visits.empty()) {
      own.emplace(visits.front().end_ns, visits.back().end_ns);
    }
  }
  return ends;
}

std::optional<PathPoint> PathFinder::last_of_all() const {
  std::optional<PathPoint> last;
  for (std::uint32_t rank = 0; rank < visits_.size(); ++rank) {
    if (!visits_[rank].empty()) {
      const Visit& visit = visits_[rank].back();
      const PathPoint point{rank, visit.end_ns, visit.operation, visit.part};
      last = !last || *last < point ? point : last;
    }
  }
  return last;
}

std::optional<PathPoint> PathFinder::before(std::uint32_t rank, std::int64_t until_ns) const {
  Visit limit;
  limit.end_ns = until_ns;
  const auto& visits = visits_[rank];
  const auto found = std::lower_bound(visits.begin(), visits.end(), limit);
  if (found == visits.begin()) {
    return std::nullopt;
  }
  const Visit& visit = *std::prev(found);
  return PathPoint{rank, visit.end_ns, visit.operation, visit.part};
}

void PathFinder::describe(std::uint32_t operation) {
  const auto [place, is_new] = path_.described.try_emplace(operation);
  if (is_new) {
    const match::MatchedOperation& matched = matches_.operations[operation];
    const model::Operation one = match::operation_of(traces_, matches_.parts[matched.first_part]);
    place->second = {matched, one.bytes, grouping_.text_of(grouping_.group_of(matched))};
  }
}

PathStop PathFinder::arrive(const PathPoint& point) {
  const std::vector<Visit>& visits = visits_[point.rank];
  auto at =
      std::lower_bound(visits.begin(), visits.end(), point.end_ns,
                       [](const Visit& one, std::int64_t end_ns) { return one.end_ns < end_ns; });
  while (at->part != point.part) {
    ++at;
  }
  Visit visit = *at;
  std::uint32_t rank = point.rank;
  std::int64_t until_ns = visit.end_ns;
  ++path_.operations;
  describe(visit.operation);
  const match::Part seen = matches_.parts[visit.part];
  std::int64_t margin_ns = 0;
  std::int64_t start_ns =
      alignment_.to_common_ns(seen.file, *match::execution_of(traces_, seen).start_ns);
  if (visit.cause != kNoCause && causes_[visit.cause].arrival_ns < until_ns) {
    const LateCause& cause = causes_[visit.cause];
    rank = who_.of(matches_.operations[visit.operation].communicator, cause.member);
    start_ns = cause.arrival_ns;
    visit.part = cause.part;
    if (cause.margin_ns) {
      ++path_.ranks[rank].arrivals;
      margin_ns = *cause.margin_ns;
    } else {
      ++path_.undecided;
    }
  }
  add_part({Spent::kTransfer, visit.operation, rank, start_ns, until_ns}, path_);
  until_ns = std::min(until_ns, start_ns);
  const match::Part part = matches_.parts[visit.part];
  const model::Operation one = match::operation_of(traces_, part);
  const std::int64_t called_ns =
      one.enqueue_start_ns
          ? std::min(until_ns, alignment_.to_common_ns(part.file, *one.enqueue_start_ns))
          : until_ns;
  return {rank, visit.operation, until_ns, called_ns, least_launch_ns(part, one), margin_ns};
}

void PathStop::leave(const std::optional<PathPoint>& before, CriticalPath& path) const {
  const std::int64_t free_ns = before ? before->end_ns : called_ns;
  // The path cannot become shorter by more than the time of this rank that is on it here. The
  // others may have waited for longer: during its earlier operations, or before the path begins.
  std::int64_t& gain_ns = path.ranks[rank].gain_ns;
  gain_ns = add_saturating(gain_ns, std::min(margin_ns, until_ns - free_ns));
  const std::int64_t queued_ns = std::max(called_ns, free_ns);
  // A call that found the stream free is launched within the least time that any took. Beyond
  // that time the stream did something else. If the operation before still ran at the call, the
  // stream did something else all the time.
  const std::int64_t launched_ns =
      called_ns >= free_ns ? add_saturating(queued_ns, least_launch_ns) : queued_ns;
  add_part({Spent::kStream, operation, rank, std::min(launched_ns, until_ns), until_ns}, path);
  add_part({Spent::kLaunch, operation, rank, queued_ns, std::min(launched_ns, until_ns)}, path);
  if (before) {
    add_part({Spent::kApplication, operation, rank, free_ns, queued_ns}, path);
  }
}

CriticalPath PathFinder::take_path() {
  CriticalPath taken = std::move(path_);
  path_ = {};
  path_.ranks.resize(taken.ranks.size());
  return taken;
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

void CriticalPath::take(CriticalPath&& earlier) {
  parts.insert(parts.end(), earlier.parts.begin(), earlier.parts.end());
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    ranks[i].arrivals += earlier.ranks[i].arrivals;
    ranks[i].gain_ns = add_saturating(ranks[i].gain_ns, earlier.ranks[i].gain_ns);
  }
  operations += earlier.operations;
  undecided += earlier.undecided;
  described.merge(earlier.described);
}

void CriticalPath::finish() {
  std::reverse(parts.begin(), parts.end());
  for (const PathPart& part : parts) {
    const std::int64_t part_ns = part.end_ns - part.start_ns;
    spent_ns[static_cast<std::size_t>(part.spent)] += part_ns;
    ranks[part.rank].spent_ns[static_cast<std::size_t>(part.spent)] += part_ns;
    length_ns += part_ns;
  }
  // The parts name ranks by index, so those move along.
  std::vector<std::uint32_t> order(ranks.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    order[i] = i;
  }
  const auto total = [&](std::uint32_t i) {
    std::int64_t sum_ns = 0;
    for (const std::int64_t kind_ns : ranks[i].spent_ns) {
      sum_ns += kind_ns;
    }
    return sum_ns;
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return total(a) > total(b); });
  std::vector<RankOnPath> sorted;
  std::vector<std::uint32_t> moved(order.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    moved[order[i]] = i;
    sorted.push_back(std::move(ranks[order[i]]));
  }
  ranks = std::move(sorted);
  for (PathPart& part : parts) {
    part.rank = moved[part.rank];
  }
}

CriticalPath find_critical_path(const facts::Facts& facts, RowsBy by) {
  PathFinder finder(facts, by);
  finder.add_all(facts);
  return finder.find();
}

void PathFinder::add_all(const facts::Facts& facts) {
  facts.for_each([&](std::size_t thread, const facts::SeenOperation& seen) { add(thread, seen); });
}

}  // namespace ringside::metrics
