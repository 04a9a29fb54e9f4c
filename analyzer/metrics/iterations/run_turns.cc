// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/iterations/run_turns.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "analyzer/metrics/iterations/named_turns.h"
#include "analyzer/model/nth_value.h"
#include "analyzer/model/saturating.h"

namespace ringside::metrics {
namespace {

// An operation as iterations name it.
PeriodCall period_call(const model::Traces& traces, const match::Matches& matches,
                       std::uint32_t operation) {
  const match::MatchedOperation& matched = matches.operations[operation];
  const model::Operation one = match::operation_of(traces, matches.parts[matched.first_part]);
  return {operation, matched, one.bytes, one.datatype, one.root};
}

}  // namespace

RunFollower::RunFollower(const facts::Facts& facts, const GlobalRanks& who, std::uint32_t run)
    : traces_(facts.traces()), matches_(facts.matches()), alignment_(facts.alignment()), who_(who) {
  for (std::uint32_t i = 0; i < matches_.operations.size(); ++i) {
    if (matches_.communicators[matches_.operations[i].communicator].run == run) {
      operations_.push_back(i);
    }
  }
}

std::vector<std::uint64_t> RunFollower::calls_by_rank() const {
  std::vector<std::uint64_t> calls(who_.all().size());
  for_each_caller(traces_, matches_, operations_,
                  [&](std::size_t i, std::uint32_t member, auto, auto) {
                    ++calls[rank_of(operations_[i], member)];
                  });
  return calls;
}

std::vector<OwnCall> RunFollower::calls_of(std::uint32_t reference) const {
  std::vector<OwnCall> calls;
  for (const std::uint32_t index : operations_) {
    const match::MatchedOperation& operation = matches_.operations[index];
    std::optional<OwnCall> first;
    for (std::size_t i = 0; i < operation.part_count; ++i) {
      const auto number = static_cast<std::uint32_t>(operation.first_part + i);
      const match::Part part = matches_.parts[number];
      if (rank_of(index, part.member) != reference) {
        continue;
      }
      const auto time_ns = call_time(match::execution_of(traces_, part));
      if (time_ns && (!first || *time_ns < first->time_ns)) {
        const std::uint64_t id = traces_.files[part.file].operations.id(part.operation);
        first = {*time_ns, id, index, number};
      }
    }
    if (first) {
      calls.push_back(*first);
    }
  }
  std::sort(calls.begin(), calls.end(), [](const OwnCall& a, const OwnCall& b) {
    return std::tie(a.time_ns, a.id, a.operation) < std::tie(b.time_ns, b.id, b.operation);
  });
  return calls;
}

RunTurns RunFollower::find_turns(std::uint32_t reference, std::size_t length) const {
  const std::vector<OwnCall> all = calls_of(reference);
  RunTurns found;
  RunPeriod& made = found.period;
  if (length == 0) {
    const match::Part part = matches_.parts[all.front().part];
    NamedTurns named = find_named_turns(traces_, traces_.files[part.file], all);
    if (!named.turns.empty()) {
      made.name = std::move(named.name);
      found.turns = std::move(named.turns);
      take_turns(all, found);
      made.coverage = 1 - static_cast<double>(made.before + made.between + made.after) /
                              static_cast<double>(all.size());
      return found;
    }
    length = named.length;
  }
  const Repetition repetition = find_repetition(traces_, matches_, all, length);
  const std::vector<OwnCall>& calls = repetition.calls;
  made.scope = repetition.scope;
  const Periods& periods = repetition.periods;
  if (!periods.chosen) {
    if (periods.nearest) {
      made.nearest_length = periods.nearest->block.size();
      made.nearest_coverage = periods.nearest->coverage;
    }
    take_turns(calls, found);
    return found;
  }
  for (std::size_t i = 0; i < periods.seen.size(); ++i) {
    if (i != *periods.chosen) {
      made.other_lengths.push_back(periods.seen[i].block.size());
    }
  }
  if (repetition.with_roots_length > 0) {
    made.other_lengths.push_back(repetition.with_roots_length);
  }
  made.coverage = periods.seen[*periods.chosen].coverage;
  const Symbols block =
      begin_after_pause(calls, repetition.symbols, periods.seen[*periods.chosen].block);
  found.turns = metrics::find_turns(repetition.symbols, block);
  take_turns(calls, found);
  return found;
}

// Fills in what follows from the turns. The first one without extra calls is the period.
void RunFollower::take_turns(const std::vector<OwnCall>& calls, RunTurns& found) const {
  const auto common_ns = [&](const OwnCall& call) {
    return alignment_.to_common_ns(matches_.parts[call.part].file, call.time_ns);
  };
  RunPeriod& made = found.period;
  made.operations = calls.size();
  made.zero_ns = common_ns(calls.front());
  std::transform(calls.begin(), calls.end(), std::back_inserter(found.calls),
                 [](const OwnCall& call) { return call.operation; });
  if (found.turns.empty()) {
    return;
  }
  std::vector<std::size_t> lengths;
  for (const Turn& turn : found.turns) {
    lengths.push_back(turn.end - turn.begin);
  }
  const std::size_t middle = model::lower_median(lengths);
  made.before = found.turns.front().begin;
  made.after = calls.size() - found.turns.back().end;
  made.between = calls.size() - made.before - made.after;
  for (const Turn& turn : found.turns) {
    made.between -= turn.end - turn.begin;
    found.starts_ns.push_back(common_ns(calls[turn.begin]));
    if (made.period.empty() && turn.end - turn.begin == middle) {
      for (std::size_t i = turn.begin; i < turn.end; ++i) {
        made.period.push_back(period_call(traces_, matches_, calls[i].operation));
      }
    }
  }
}

// Every rank goes through the iterations with the operations that it shares with the reference.
FollowedTurns RunFollower::follow(std::span<const std::uint32_t> calls,
                                  const std::vector<Turn>& turns) const {
  // The iteration that a rank is in.
  struct Follower {
    std::uint32_t iteration = kNoIteration;
    std::int64_t start_ns = 0;
    Spans spans;  // of the iterations that are behind it
  };
  FollowedTurns found;
  found.durations_ns.resize(turns.size());
  std::vector<std::uint32_t> iteration_at(calls.size(), kNoIteration);
  for (std::uint32_t k = 0; k < turns.size(); ++k) {
    std::fill(iteration_at.begin() + static_cast<std::ptrdiff_t>(turns[k].begin),
              iteration_at.begin() + static_cast<std::ptrdiff_t>(turns[k].end), k);
  }
  std::vector<Follower> followers(who_.all().size());
  for_each_caller(traces_, matches_, calls,
                  [&](std::size_t i, std::uint32_t member, auto, std::int64_t time_ns) {
                    const std::uint32_t now = iteration_at[i];
                    Follower& at = followers[rank_of(calls[i], member)];
                    if (at.iteration == now) {
                      at.start_ns = std::min(at.start_ns, time_ns);
                      return;
                    }
                    if (at.iteration != kNoIteration) {
                      at.spans.push_back({at.start_ns, time_ns, at.iteration});
                      // Later than in the next iteration: records of this rank are missing in
                      // between.
                      const bool is_next =
                          at.iteration + 1 == turns.size() || i < turns[at.iteration + 1].end;
                      const std::int64_t duration_ns = subtract_saturating(time_ns, at.start_ns);
                      if (is_next && duration_ns >= 0) {
                        found.durations_ns[at.iteration].push_back(duration_ns);
                      }
                    }
                    at.iteration = now;
                    at.start_ns = time_ns;
                  });
  std::vector<Spans> spans;
  for (Follower& at : followers) {
    if (at.iteration != kNoIteration) {
      at.spans.push_back({at.start_ns, std::numeric_limits<std::int64_t>::max(), at.iteration});
    }
    std::sort(at.spans.begin(), at.spans.end(), [](const Span& a, const Span& b) {
      return std::tie(a.start_ns, a.iteration) < std::tie(b.start_ns, b.iteration);
    });
    found.ranks += at.spans.empty() ? 0 : 1;
    spans.push_back(std::move(at.spans));
  }
  assign_others(calls, spans, found);
  return found;
}

// An operation without the reference is of the iteration in which the first of its ranks that is in
// any called it.
void RunFollower::assign_others(std::span<const std::uint32_t> calls,
                                const std::vector<Spans>& spans, FollowedTurns& found) const {
  std::vector<bool> is_followed(matches_.operations.size());
  for (const std::uint32_t call : calls) {
    is_followed[call] = true;
  }
  std::vector<std::uint32_t> others;
  std::copy_if(operations_.begin(), operations_.end(), std::back_inserter(others),
               [&](std::uint32_t i) { return !is_followed[i]; });
  for_each_caller(traces_, matches_, others,
                  [&](std::size_t i, std::uint32_t member, auto, std::int64_t time_ns) {
                    if (!found.others.empty() && found.others.back().operation == others[i]) {
                      return;
                    }
                    const std::uint32_t iteration =
                        iteration_at(spans[rank_of(others[i], member)], time_ns);
                    if (iteration != kNoIteration) {
                      found.others.push_back({iteration, others[i]});
                    }
                  });
}

std::uint32_t RunFollower::iteration_at(const Spans& spans, std::int64_t time_ns) {
  const auto after =
      std::upper_bound(spans.begin(), spans.end(), time_ns,
                       [](std::int64_t time, const Span& span) { return time < span.start_ns; });
  return after == spans.begin() || std::prev(after)->end_ns <= time_ns
             ? kNoIteration
             : std::prev(after)->iteration;
}

std::vector<OperationOf> RunFollower::operations_of(
    const std::vector<std::uint32_t>& iteration_of) const {
  std::vector<OperationOf> chosen;
  for (const std::uint32_t i : operations_) {
    if (iteration_of[i] != kNoIteration) {
      chosen.push_back({iteration_of[i], i});
    }
  }
  return chosen;
}

}  // namespace ringside::metrics
