// SPDX-License-Identifier: Apache-2.0
#include "analyzer/mpi/iterations_leader.h"

#include <set>
#include <utility>

#include "analyzer/metrics/iterations/run_turns.h"
#include "analyzer/model/archive.h"
#include "analyzer/mpi/asking.h"

namespace ringside::mpi {

IterationsLeader::IterationsLeader(Messages& messages, const Owner& owner, const facts::Facts& here)
    : messages_(messages), owner_(owner), here_(here), who_(here.traces(), here.matches()) {
  std::uint32_t index = 0;
  owner.for_each_number(here.matches(), [&](std::uint32_t number, const match::MatchedOperation&) {
    here_of_[number] = index++;
  });
}

void IterationsLeader::ask(IterationsRequest& request,
                           const std::function<void(std::string_view)>& take) const {
  const std::string text = model::archived(request);
  tell_others(messages_, Request::kIterations, text);
  take(OwnedIterations(owner_).answer(text));
  hear_others(messages_, take);
}

std::optional<metrics::RunIterations> IterationsLeader::find_run(std::uint32_t run,
                                                                 std::size_t length) const {
  IterationsRequest request;
  request.run = run;
  std::vector<std::uint64_t> calls(who_.all().size());
  ask(request, [&](std::string_view text) {
    std::vector<std::uint64_t> more;
    model::unarchive(text, more);
    for (std::size_t rank = 0; rank < calls.size(); ++rank) {
      calls[rank] += more[rank];
    }
  });
  const auto reference = metrics::choose_reference(calls);
  if (!reference) {
    return std::nullopt;
  }
  request.step = IterationsRequest::Step::kTurns;
  request.reference = *reference;
  request.length = length;
  metrics::RunTurns turns;
  ask(request, [&](std::string_view text) {
    metrics::RunTurns more;
    model::unarchive(text, more);
    if (!more.calls.empty()) {
      turns = std::move(more);
    }
  });
  for (metrics::PeriodCall& call : turns.period.period) {
    // Ranks may have called these otherwise than the lowest of them.
    if (const auto index = here_of_.find(call.operation); index != here_of_.end()) {
      call = metrics::period_call(here_.traces(), here_.matches(), index->second);
    }
  }
  metrics::FollowedTurns followed;
  if (!turns.turns.empty()) {
    request.step = IterationsRequest::Step::kFollow;
    request.calls = turns.calls;
    request.turns = turns.turns;
    followed.durations_ns.resize(turns.turns.size());
    ask(request, [&](std::string_view text) {
      metrics::FollowedTurns more;
      model::unarchive(text, more);
      followed.take(std::move(more));
    });
  }
  request.step = IterationsRequest::Step::kRuns;
  request.calls.clear();
  request.turns.clear();
  request.iteration_of.assign(owner_.operations(), metrics::kNoIteration);
  metrics::put_iterations(turns, followed, request.iteration_of);
  metrics::RunIterations found =
      metrics::make_run(run, calls, *reference, who_, turns, std::move(followed));
  BusyInIterations busy_ns;
  ask(request, [&](std::string_view text) {
    BusyInIterations more;
    model::unarchive(text, more);
    for (const auto& [iteration, of_ranks] : more) {
      std::vector<std::int64_t>& all = busy_ns[iteration];
      all.insert(all.end(), of_ranks.begin(), of_ranks.end());
    }
  });
  for (auto& [iteration, of_ranks] : busy_ns) {
    found.iterations[iteration].busy_ns = metrics::median_over_ranks(of_ranks);
  }
  found.iteration_of = std::move(request.iteration_of);
  metrics::sum_up(found);
  return found;
}

std::vector<metrics::RunIterations> IterationsLeader::find(std::size_t length) {
  std::set<std::uint32_t> runs;
  const std::vector<match::Communicator>& communicators = here_.matches().communicators;
  for (std::uint32_t c = 0; c < communicators.size(); ++c) {
    if (owner_.everywhere()[c] > 0) {
      runs.insert(communicators[c].run);
    }
  }
  std::vector<metrics::RunIterations> found;
  for (const std::uint32_t run : runs) {
    if (auto one = find_run(run, length)) {
      found.push_back(std::move(*one));
    }
  }
  return found;
}

}  // namespace ringside::mpi
