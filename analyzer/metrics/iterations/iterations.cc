// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/iterations/iterations.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "analyzer/metrics/global_ranks.h"
#include "analyzer/metrics/iterations/distribution.h"
#include "analyzer/metrics/iterations/iteration_figures.h"
#include "analyzer/metrics/iterations/run_turns.h"

namespace ringside::metrics {
namespace {

// The rank with the most calls; nothing if there are none.
std::optional<std::uint32_t> choose_reference(const std::vector<std::uint64_t>& calls_by_rank) {
  const auto most = std::max_element(calls_by_rank.begin(), calls_by_rank.end());
  if (most == calls_by_rank.end() || *most == 0) {
    return std::nullopt;
  }
  return static_cast<std::uint32_t>(most - calls_by_rank.begin());
}

// Says in which iteration each operation is. `iteration_of`: by operation, until now kNoIteration.
void put_iterations(const RunTurns& turns, const FollowedTurns& followed,
                    std::vector<std::uint32_t>& iteration_of) {
  for (std::uint32_t k = 0; k < turns.turns.size(); ++k) {
    for (std::size_t i = turns.turns[k].begin; i < turns.turns[k].end; ++i) {
      iteration_of[turns.calls[i]] = k;
    }
  }
  for (const OperationOf& other : followed.others) {
    iteration_of[other.operation] = other.iteration;
  }
}

// All of a run but what its operations took.
RunIterations make_run(std::uint32_t run, const std::vector<std::uint64_t>& calls_by_rank,
                       std::uint32_t reference, const GlobalRanks& who, const RunTurns& turns,
                       FollowedTurns&& followed) {
  RunIterations made;
  static_cast<RunPeriod&>(made) = turns.period;
  made.run = run;
  made.reference = who.all()[reference].label;
  made.ranks = calls_by_rank.size() -
               static_cast<std::size_t>(std::count(calls_by_rank.begin(), calls_by_rank.end(), 0));
  made.ranks_apart = turns.turns.empty() ? 0 : made.ranks - followed.ranks;
  for (std::size_t k = 0; k < turns.turns.size(); ++k) {
    Iteration& iteration = made.iterations.emplace_back();
    iteration.start_ns = turns.starts_ns[k];
    iteration.operations = turns.turns[k].end - turns.turns[k].begin;
    iteration.ranks = followed.durations_ns[k].size();
    iteration.duration_ns = median_over_ranks(followed.durations_ns[k]);
  }
  return made;
}

// Finds the distributions over its iterations.
void sum_up(RunIterations& run) {
  const auto distribution = [&](std::optional<std::int64_t> Iteration::*figure) {
    std::vector<std::int64_t> values;
    for (const Iteration& iteration : run.iterations) {
      if (iteration.*figure) {
        values.push_back(*(iteration.*figure));
      }
    }
    return distribution_of(values);
  };
  run.duration = distribution(&Iteration::duration_ns);
  run.busy = distribution(&Iteration::busy_ns);
}

// Nothing if the run has no operations with a time.
std::optional<RunIterations> find_run(const facts::Facts& facts, const GlobalRanks& who,
                                      std::uint32_t run, std::size_t length) {
  const RunFollower follower(facts, who, run);
  const std::vector<std::uint64_t> calls = follower.calls_by_rank();
  const auto reference = choose_reference(calls);
  if (!reference) {
    return std::nullopt;
  }
  const RunTurns turns = follower.find_turns(*reference, length);
  FollowedTurns followed;
  if (!turns.turns.empty()) {
    followed = follower.follow(turns.calls, turns.turns);
  }
  std::vector<std::uint32_t> iteration_of(facts.matches().operations.size(), kNoIteration);
  put_iterations(turns, followed, iteration_of);
  RunIterations found = make_run(run, calls, *reference, who, turns, std::move(followed));
  measure_iterations(facts, who, follower.operations_of(iteration_of), found.iterations.size(),
                     [&](std::uint32_t iteration, std::vector<std::int64_t>&& busy_ns) {
                       found.iterations[iteration].busy_ns = median_over_ranks(busy_ns);
                     });
  found.iteration_of = std::move(iteration_of);
  sum_up(found);
  return found;
}

}  // namespace

std::vector<RunIterations> find_iterations(const facts::Facts& facts, std::size_t length) {
  const match::Matches& matches = facts.matches();
  const GlobalRanks who(facts.traces(), matches);
  std::set<std::uint32_t> runs;
  for (const match::MatchedOperation& operation : matches.operations) {
    runs.insert(matches.communicators[operation.communicator].run);
  }
  std::vector<RunIterations> found;
  for (const std::uint32_t run : runs) {
    if (auto of_run = find_run(facts, who, run, length)) {
      found.push_back(std::move(*of_run));
    }
  }
  return found;
}

}  // namespace ringside::metrics
