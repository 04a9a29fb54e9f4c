// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/hang/hang_positions.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string_view>

#include "analyzer/match/verdict/overtaken.h"

namespace ringside::metrics {
namespace {

using model::Operation;
using model::State;
using model::TimesFrom;

Stage stage_of(const model::Process& process, const Operation& operation) {
  if (!process.tells_begin) {
    return operation.state == State::kStarted ? Stage::kKernel : Stage::kCalled;
  }
  if (!operation.enqueue_end_ns) {
    return Stage::kCall;
  }
  if (operation.state == State::kEnqueued) {
    return Stage::kEnqueued;
  }
  return operation.times_from == TimesFrom::kGpu     ? Stage::kKernel
         : operation.times_from == TimesFrom::kProxy ? Stage::kNetwork
                                                     : Stage::kProxy;
}

void find_fronts(const model::TraceFile& file, const std::vector<std::uint32_t>& calls,
                 Position& position) {
  const auto lane_of = [&](const Operation& operation) {
    return match::peer_of_own_communicator(file.process, operation);
  };
  std::map<std::optional<std::uint32_t>, match::LatestFinished> finished;
  for (const std::uint32_t call : calls) {
    const Operation& operation = file.operations[call];
    finished[lane_of(operation)].add(operation);
  }
  std::map<std::uint32_t, std::uint32_t> last_of_thread;
  for (const std::uint32_t call : calls) {
    last_of_thread[file.operations[call].tid] = call;
  }
  // A thread that has called again has returned from the call before: only the record of that is
  // lost.
  const auto has_returned = [&](std::uint32_t call, const Operation& operation) {
    return operation.tid != 0 && last_of_thread[operation.tid] != call &&
           stage_of(file.process, operation) == Stage::kCall;
  };
  std::vector<std::uint32_t> open;
  for (const std::uint32_t call : calls) {
    const Operation& operation = file.operations[call];
    if (operation.kind != model::Kind::kApi && operation.in_flight &&
        operation.state != State::kCompleted &&
        !finished[lane_of(operation)].overtakes(operation) && !has_returned(call, operation)) {
      open.push_back(call);
    }
  }
  if (open.empty()) {
    return;
  }
  std::int64_t free_ns = std::numeric_limits<std::int64_t>::min();
  if (position.last_finished) {
    free_ns = file.operations[*position.last_finished].end_ns.value_or(free_ns);
  }
  std::map<std::optional<std::uint32_t>, std::uint64_t> first_group;  // by lane
  bool may_be_batch = !file.process.tells_begin && !file.process.has_pair_communicators;
  for (const std::uint32_t call : open) {
    const Operation& operation = file.operations[call];
    const std::uint64_t group = operation.group.value_or(0);
    const auto [first, is_first] = first_group.try_emplace(lane_of(operation), group);
    // nccl2 does not tell which sends and receives were called together.
    may_be_batch = may_be_batch && operation.kind == model::Kind::kPointToPoint;
    if (!is_first && !may_be_batch && (group == 0 || first->second != group)) {
      continue;
    }
    Front front;
    front.operation = call;
    front.stage = stage_of(file.process, operation);
    front.since_ns = operation.start_ns ? *operation.start_ns
                                        : std::max(operation.enqueue_start_ns.value_or(0), free_ns);
    if (file.process.tells_moment) {
      front.waited_ns =
          std::max<std::int64_t>(elapsed_ns(front.since_ns, end_of_trace_ns(file)), 0);
    }
    position.fronts.push_back(front);
  }
}

void find_last(const model::TraceFile& file, const std::vector<std::uint32_t>& calls,
               Position& position) {
  const auto later = [&](std::optional<std::uint32_t>& last, std::uint32_t call, auto time) {
    if (!last || *time(file.operations[*last]) <= *time(file.operations[call])) {
      last = call;
    }
  };
  for (const std::uint32_t call : calls) {
    const Operation& operation = file.operations[call];
    if (operation.state == State::kCompleted && !file.process.tells_moment) {
      position.last_finished = call;  // when it ended is not told either: the order of calls is
    } else if (operation.state == State::kCompleted && operation.end_ns) {
      later(position.last_finished, call, [](const Operation& o) { return o.end_ns; });
    }
    if (operation.start_ns) {
      later(position.last_started, call, [](const Operation& o) { return o.start_ns; });
    }
  }
  if (!calls.empty()) {
    position.last_enqueued = calls.back();
  }
  if (position.last_finished && file.process.tells_moment) {
    const std::int64_t end_ns = file.operations[*position.last_finished].end_ns.value_or(0);
    position.idle_ns = std::max<std::int64_t>(elapsed_ns(end_ns, end_of_trace_ns(file)), 0);
  }
}

// Each operation is read once, which is dear.
void sort_calls(const model::Operations& operations, std::vector<std::uint32_t>& calls) {
  std::vector<std::pair<std::pair<std::int64_t, std::uint64_t>, std::uint32_t>> keyed;
  keyed.reserve(calls.size());
  for (const std::uint32_t call : calls) {
    keyed.emplace_back(call_order(operations[call]), call);
  }
  std::sort(keyed.begin(), keyed.end());
  for (std::size_t i = 0; i < calls.size(); ++i) {
    calls[i] = keyed[i].second;
  }
}

}  // namespace

std::pair<std::int64_t, std::uint64_t> call_order(const Operation& operation) {
  return {operation.enqueue_start_ns.value_or(0), operation.id};
}

std::int64_t elapsed_ns(std::int64_t a_ns, std::int64_t b_ns) {
  std::int64_t difference_ns = 0;
  if (__builtin_sub_overflow(b_ns, a_ns, &difference_ns)) {
    return b_ns < a_ns ? std::numeric_limits<std::int64_t>::min()
                       : std::numeric_limits<std::int64_t>::max();
  }
  return difference_ns;
}

std::int64_t end_of_trace_ns(const model::TraceFile& file) {
  return file.last_ns.value_or(file.process.start_ns);
}

bool has_lost_records(const model::TraceFile& file) {
  return file.torn || file.bad_lines > 0 || !file.account.dropped.empty() ||
         file.account.in_rings > 0 || file.account.sampled_out > 0 || file.segments_missing > 0 ||
         (file.operations_written && *file.operations_written > file.operations.size());
}

std::vector<Position> find_positions(const model::Traces& traces,
                                     const std::vector<match::Communicator>& communicators) {
  std::vector<std::map<std::uint32_t, std::vector<std::uint32_t>>> calls(traces.files.size());
  for (std::size_t f = 0; f < traces.files.size(); ++f) {
    const auto& operations = traces.files[f].operations;
    for (std::uint32_t i = 0; i < operations.size(); ++i) {
      calls[f][operations.context(i)].push_back(i);
    }
    for (auto& [context, of_context] : calls[f]) {
      sort_calls(operations, of_context);
    }
  }
  std::vector<Position> positions;
  for (std::uint32_t c = 0; c < communicators.size(); ++c) {
    for (std::uint32_t m = 0; m < communicators[c].members.size(); ++m) {
      const match::Member& member = communicators[c].members[m];
      Position& position = positions.emplace_back();
      position.communicator = c;
      position.member = m;
      position.file = member.file;
      position.rank = member.rank;
      const auto& own = calls[member.file][member.context];
      find_last(traces.files[member.file], own, position);
      find_fronts(traces.files[member.file], own, position);
    }
  }
  return positions;
}

PositionIndex::PositionIndex(const std::vector<Position>& positions) {
  for (std::uint32_t p = 0; p < positions.size(); ++p) {
    if (positions[p].member == 0) {
      first_of_.push_back(p);
    }
    for (std::uint32_t f = 0; f < positions[p].fronts.size(); ++f) {
      fronts_[{positions[p].file, positions[p].fronts[f].operation}] = {p, f};
    }
  }
}

const PositionIndex::Place* PositionIndex::front_at(const match::Part& part) const {
  const auto found = fronts_.find({part.file, part.operation});
  return found == fronts_.end() ? nullptr : &found->second;
}

std::vector<std::string> keep_latest_files(model::Traces& traces) {
  const auto is_better = [](const model::TraceFile& a, const model::TraceFile& b) {
    if (a.closed != b.closed) {
      return a.closed;
    }
    if (end_of_trace_ns(a) != end_of_trace_ns(b)) {
      return end_of_trace_ns(a) > end_of_trace_ns(b);
    }
    return a.operations.size() > b.operations.size();
  };
  std::map<std::string_view, std::size_t> best;  // by run id
  for (std::size_t i = 0; i < traces.files.size(); ++i) {
    const model::TraceFile& file = traces.files[i];
    const auto [entry, is_new] = best.emplace(file.process.run_id, i);
    if (!is_new && is_better(file, traces.files[entry->second])) {
      entry->second = i;
    }
  }
  std::vector<std::string> notes;
  std::vector<bool> is_kept(traces.files.size());
  for (std::size_t i = 0; i < traces.files.size(); ++i) {
    const model::TraceFile& file = traces.files[i];
    const std::size_t chosen = best.at(file.process.run_id);
    is_kept[i] = chosen == i || file.process.run_id.empty();
    if (!is_kept[i]) {
      notes.push_back(file.path + ": of the same run as " + traces.files[chosen].path +
                      ", which is of a later moment; left out");
    }
  }
  std::vector<model::TraceFile> kept;
  for (std::size_t i = 0; i < traces.files.size(); ++i) {
    if (is_kept[i]) {
      kept.push_back(std::move(traces.files[i]));
    }
  }
  traces.files = std::move(kept);
  return notes;
}

}  // namespace ringside::metrics
