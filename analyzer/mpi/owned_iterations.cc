// SPDX-License-Identifier: Apache-2.0
#include "analyzer/mpi/owned_iterations.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "analyzer/model/archive.h"

namespace ringside::mpi {

OwnedIterations::OwnedIterations(const Owner& owner)
    : owner_(owner), who_(owner.facts().traces(), owner.facts().matches()) {}

std::string OwnedIterations::answer(std::string_view text) const {
  IterationsRequest request;
  model::unarchive(text, request);
  switch (request.step) {
    case IterationsRequest::Step::kCalls: {
      std::vector<std::uint64_t> calls =
          metrics::RunFollower(owner_.facts(), who_, request.run).calls_by_rank();
      return model::archived(calls);
    }
    case IterationsRequest::Step::kTurns:
      return find_turns(request);
    case IterationsRequest::Step::kFollow:
      return follow(request);
    default:
      return measure(request);
  }
}

std::string OwnedIterations::find_turns(const IterationsRequest& request) const {
  const metrics::RunFollower follower(owner_.facts(), who_, request.run);
  metrics::RunTurns turns;
  if (follower.calls_by_rank()[request.reference] > 0) {
    turns = follower.find_turns(request.reference, request.length);
    for (std::uint32_t& call : turns.calls) {
      call = owner_.numbers()[call];
    }
    for (metrics::PeriodCall& call : turns.period.period) {
      call.operation = owner_.numbers()[call.operation];
    }
  }
  return model::archived(turns);
}

std::string OwnedIterations::follow(const IterationsRequest& request) const {
  std::unordered_map<std::uint32_t, std::uint32_t> here;  // by number
  for (std::uint32_t i = 0; i < owner_.numbers().size(); ++i) {
    here[owner_.numbers()[i]] = i;
  }
  std::vector<std::uint32_t> calls;
  calls.reserve(request.calls.size());
  for (const std::uint32_t number : request.calls) {
    const auto call = here.find(number);
    calls.push_back(call == here.end() ? metrics::kNoIteration : call->second);
  }
  metrics::FollowedTurns followed =
      metrics::RunFollower(owner_.facts(), who_, request.run).follow(calls, request.turns);
  for (metrics::FollowedTurns::Other& other : followed.others) {
    other.operation = owner_.numbers()[other.operation];
  }
  return model::archived(followed);
}

std::string OwnedIterations::measure(const IterationsRequest& request) const {
  const facts::Facts& facts = owner_.facts();
  std::vector<std::uint32_t> iteration_of;  // of the operations that are here
  std::uint32_t iterations = 0;
  for (const std::uint32_t number : owner_.numbers()) {
    iteration_of.push_back(request.iteration_of[number]);
    if (iteration_of.back() != metrics::kNoIteration) {
      iterations = std::max(iterations, iteration_of.back() + 1);
    }
  }
  BusyInIterations found;
  std::mutex mutex;
  metrics::measure_iterations(
      facts, who_, metrics::RunFollower(facts, who_, request.run).operations_of(iteration_of),
      iterations, [&](std::uint32_t iteration, std::vector<std::int64_t>&& busy_ns) {
        const std::lock_guard lock(mutex);
        found[iteration] = std::move(busy_ns);
      });
  return model::archived(found);
}

}  // namespace ringside::mpi
