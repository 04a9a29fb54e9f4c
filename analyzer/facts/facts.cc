// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/facts.h"

#include <algorithm>

#include "analyzer/facts/arrival_order.h"
#include "analyzer/match/verdict/findings.h"
#include "analyzer/match/verdict/function_mismatch.h"
#include "analyzer/model/parallel.h"

namespace ringside::facts {
namespace {

// One thread takes so many operations at a time.
constexpr std::size_t kPortion = 256;

// Joins an operation of the rank to its earlier ones: a group comes with its first and goes with
// its last. A rank that was seen to come with one of them came so with all, since NCCL runs them
// together.
void join(RankTimes& rank, const RankTimes& next) {
  rank.has_execution = rank.has_execution && next.has_execution;
  if ((rank.open_ns == 0) == (next.open_ns == 0)) {
    const std::int64_t latest_ns = std::min(add_saturating(rank.arrival_ns, rank.open_ns),
                                            add_saturating(next.arrival_ns, next.open_ns));
    rank.arrival_ns = std::min(rank.arrival_ns, next.arrival_ns);
    rank.open_ns = subtract_saturating(latest_ns, rank.arrival_ns);
  } else if (next.open_ns == 0) {
    rank.arrival_ns = next.arrival_ns;
    rank.open_ns = 0;
  }
  rank.end_ns = std::max(rank.end_ns, next.end_ns);
}

}  // namespace

Facts::Facts(const model::Traces& traces, const match::Matches& matches,
             const align::Alignment& alignment)
    : traces_(traces),
      matches_(matches),
      alignment_(alignment),
      all_tell_start_(
          std::all_of(traces.files.begin(), traces.files.end(),
                      [](const model::TraceFile& file) { return file.process.tells_start; })) {}

const std::vector<match::Judgement>& Facts::judgements() const {
  std::call_once(has_judgements_, [&] {
    judgements_ = match::judge_all(traces_, matches_, align::judging_clock(alignment_));
  });
  return judgements_;
}

const std::vector<OperationFacts>& Facts::operations() const {
  std::call_once(has_operations_, [&] { compute_operations(); });
  return operations_;
}

// Each thread writes elements of its own.
void Facts::compute_operations() const {
  operations_.resize(matches_.operations.size());
  for_each([&](std::size_t, const SeenOperation& seen) { operations_[seen.index] = seen.facts; });
}

void Facts::for_each(const Fold& fold) const {
  const std::size_t count = matches_.operations.size();
  for_each_on_cores(count / kPortion + 1, [&](std::size_t thread, std::size_t portion) {
    ranks_of_each(match::portion_of(portion * kPortion, kPortion, count),
                  [&](std::size_t, const SeenOperation& seen) { fold(thread, seen); });
  });
}

void Facts::read_ranks(const match::MatchedOperation& operation,
                       std::vector<RankTimes>& rows) const {
  std::vector<match::Part> parts;
  std::vector<model::Execution> executions;
  parts.reserve(operation.part_count);
  executions.reserve(operation.part_count);
  for (const match::Part& part : match::parts_of(matches_, operation)) {
    parts.push_back(part);
    executions.push_back(match::execution_of(traces_, part));
  }
  take_ranks(operation, parts, executions, rows);
}

void Facts::take_ranks(const match::MatchedOperation& operation, std::span<const match::Part> parts,
                       std::span<const model::Execution> executions,
                       std::vector<RankTimes>& rows) const {
  rows.clear();
  const match::Communicator& communicator = matches_.communicators[operation.communicator];
  for (std::size_t i = 0; i < executions.size(); ++i) {
    const match::Part& part = parts[i];
    const model::Execution& one = executions[i];
    RankTimes rank;
    rank.member = part.member;
    rank.file = part.file;
    rank.host = alignment_.host_of(part.file);
    rank.part = static_cast<std::uint32_t>(operation.first_part + i);
    rank.has_execution = ran_to_its_end(one);
    rank.times_from = one.times_from;
    // A send of a rank to itself is a copy, and NCCL reports only its call.
    const bool is_to_self = operation.way == match::Way::kGroup && one.peer &&
                            communicator.members[part.member].rank == *one.peer;
    if (is_to_self && !rank.has_execution && communicator.members.size() > 1) {
      continue;
    }
    const auto& start_ns = rank.has_execution ? one.start_ns : one.enqueue_start_ns;
    const bool is_next = !rows.empty() && rows.back().member == rank.member;
    if (!start_ns) {
      if (is_next) {
        rows.back().has_execution = false;
      }
      continue;
    }
    const auto& end_ns = rank.has_execution ? one.end_ns : one.enqueue_end_ns;
    rank.error =
        rank.has_execution ? alignment_.stamp_errors().of(part.file, one) : align::kCallError;
    // Its GPU may have been there since the call, which launches the kernel as it ends.
    const auto& called_ns = one.enqueue_end_ns ? one.enqueue_end_ns : one.enqueue_start_ns;
    const std::int64_t open_ns =
        rank.has_execution && one.start_is_latest && called_ns
            ? std::max<std::int64_t>(subtract_saturating(*start_ns, *called_ns), 0)
            : 0;
    // A duration is that of the host's own clock, whatever the drift of that clock is.
    const std::int64_t came_ns = subtract_saturating(*start_ns, open_ns);
    rank.arrival_ns = alignment_.to_host_ns(part.file, came_ns);
    rank.open_ns = open_ns;
    rank.end_ns =
        add_saturating(rank.arrival_ns,
                       std::max(subtract_saturating(end_ns.value_or(*start_ns), came_ns), open_ns));
    if (!all_tell_start_ && !traces_.files[part.file].process.tells_start) {
      // Only how long it ran is known. The ranks of most operations end nearly together, so the
      // best guess is that they do, and nothing bounds when they came.
      rank.arrival_ns = -rank.wall_ns();
      rank.end_ns = 0;
      rank.error = align::kUnknownError;
    }
    if (is_next) {
      join(rows.back(), rank);
    } else {
      rows.push_back(rank);
    }
  }
}

void Facts::finish_ranks(const match::MatchedOperation& operation,
                         std::vector<RankTimes>& rows) const {
  put_on_common_clock(alignment_, all_need_all(traces_, operation), rows);
  sort_by_arrival(rows);
}

FlowOfOperation Facts::flow_of(std::size_t operation, const std::vector<RankTimes>& rows) const {
  return facts::flow_of(traces_, matches_, matches_.operations[operation], rows);
}

OperationFacts Facts::ranks_of(std::size_t operation, std::vector<RankTimes>& rows) const {
  const match::MatchedOperation& matched = matches_.operations[operation];
  read_ranks(matched, rows);
  finish_ranks(matched, rows);
  return make(matched, flow_of(operation, rows), rows);
}

OperationFacts Facts::make_from(std::size_t operation, std::span<const match::Part> parts,
                                std::span<const model::Execution> executions,
                                std::vector<RankTimes>& rows) const {
  const match::MatchedOperation& matched = matches_.operations[operation];
  take_ranks(matched, parts, executions, rows);
  finish_ranks(matched, rows);
  return make(matched, flow_of(operation, rows), rows);
}

std::int64_t Facts::last_arrival_ns(std::size_t operation, std::vector<RankTimes>& rows) const {
  read_ranks(matches_.operations[operation], rows);
  return rows.empty() ? 0 : last_arrival_of(alignment_, rows);
}

OperationFacts Facts::of_group(const std::vector<std::uint32_t>& operations,
                               std::vector<RankTimes>& rows) const {
  std::vector<RankTimes> all;
  FlowOfOperation flow{Flow::kAll, RankTimes::kNobody, {}};
  for (const std::uint32_t operation : operations) {
    read_ranks(matches_.operations[operation], rows);
    finish_ranks(matches_.operations[operation], rows);
    all.insert(all.end(), rows.begin(), rows.end());
    const Flow own = flow_of(operation, rows).flow;
    flow.flow = own == flow.flow ? own : Flow::kUnknown;
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const RankTimes& a, const RankTimes& b) { return a.member < b.member; });
  rows.clear();
  for (const RankTimes& rank : all) {
    if (!rows.empty() && rows.back().member == rank.member) {
      join(rows.back(), rank);
    } else {
      rows.push_back(rank);
    }
  }
  sort_by_arrival(rows);
  return make(matches_.operations[operations.front()], flow, rows);
}

OperationFacts Facts::make(const match::MatchedOperation& operation, const FlowOfOperation& flow,
                           std::vector<RankTimes>& rows) const {
  OperationFacts made;
  if (rows.empty()) {
    return made;
  }
  made.has_all_ranks = rows.size() >= match::ranks_expected(matches_, operation);
  made.first_arrival_ns = rows.front().arrival_ns;
  made.last_arrival_ns = rows.back().arrival_ns;
  made.last_end_ns = rows.front().arrival_ns;
  for (const RankTimes& rank : rows) {
    if (rank.has_execution) {
      ++made.ranks_timed;
      made.last_end_ns = std::max(made.last_end_ns, rank.end_ns);
    }
  }
  made.basis = made.ranks_timed == 0            ? Basis::kCall
               : made.ranks_timed < rows.size() ? Basis::kSome
                                                : Basis::kExecution;
  const OperationTimes times = find_times(flow, made.has_all_ranks, rows);
  made.is_impossible = times.is_impossible;
  made.busy = times.busy;
  made.best_busy_ns = times.best_busy_ns;
  return made;
}

}  // namespace ringside::facts
