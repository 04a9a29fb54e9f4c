// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/iterations/iterations.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "analyzer/metrics/global_ranks.h"
#include "analyzer/metrics/iterations/iteration_figures.h"
#include "analyzer/metrics/iterations/run_turns.h"

namespace ringside::metrics {
namespace {

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
