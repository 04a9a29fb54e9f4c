// SPDX-License-Identifier: Apache-2.0
#include "analyzer/mpi/iterations_leader.h"

#include <set>
#include <utility>

#include "analyzer/metrics/rank_waits.h"
#include "analyzer/metrics/run_turns.h"
#include "analyzer/model/archive.h"
#include "analyzer/mpi/asking.h"

namespace ringside::mpi {
namespace {

void take_parts(PartsOfIterations& parts, const PartsOfIterations& more) {
  for (const auto& [iteration, found] : more) {
    parts[iteration].take(found);
  }
}

}  // namespace

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

void IterationsLeader::ask_for_parts(IterationsRequest::Step step, Begun& begun) const {
  IterationsRequest request;
  request.step = step;
  request.run = begun.run.run;
  request.iteration_of = begun.iteration_of;
  ask(request, [&](std::string_view text) {
    PartsOfIterations more;
    model::unarchive(text, more);
    take_parts(begun.parts, more);
  });
}

std::optional<IterationsLeader::Begun> IterationsLeader::begin(std::uint32_t run,
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
  Begun begun;
  begun.iteration_of.resize(owner_.operations(), metrics::kNoIteration);
  metrics::put_iterations(turns, followed, begun.iteration_of);
  begun.run = metrics::make_run(run, calls, *reference, who_, turns, std::move(followed));
  ask_for_parts(IterationsRequest::Step::kRuns, begun);
  return begun;
}

void IterationsLeader::add_waits(Begun& begun) const {
  ask_for_parts(IterationsRequest::Step::kWaits, begun);
  std::vector<std::uint32_t> iteration_of(here_.matches().operations.size());
  for (const auto& [number, index] : here_of_) {
    iteration_of[index] = begun.iteration_of[number];
  }
  metrics::RankWaits waits(here_, who_);
  metrics::Measured measured;
  measured.runs = false;
  measured.waits = &waits;
  std::vector<metrics::IterationParts> parts(begun.run.iterations.size());
  metrics::measure_iterations(
      here_, who_, metrics::RunFollower(here_, who_, begun.run.run).operations_of(iteration_of),
      parts.size(), measured, [&](std::uint32_t iteration, metrics::IterationParts&& found) {
        parts[iteration] = std::move(found);
      });
  for (std::uint32_t i = 0; i < parts.size(); ++i) {
    parts[i].take(begun.parts[i]);
    metrics::fill_in(std::move(parts[i]), here_.traces(), who_, begun.run.iterations[i]);
  }
  metrics::sum_up(begun.run);
}

std::vector<metrics::RunIterations> IterationsLeader::find(std::size_t length,
                                                           const std::function<void()>& divide) {
  std::set<std::uint32_t> runs;
  const std::vector<match::Communicator>& communicators = here_.matches().communicators;
  for (std::uint32_t c = 0; c < communicators.size(); ++c) {
    if (owner_.everywhere()[c] > 0) {
      runs.insert(communicators[c].run);
    }
  }
  std::vector<Begun> begun;
  for (const std::uint32_t run : runs) {
    if (auto one = begin(run, length)) {
      begun.push_back(std::move(*one));
    }
  }
  divide();
  std::vector<metrics::RunIterations> found;
  for (Begun& one : begun) {
    add_waits(one);
    found.push_back(std::move(one.run));
  }
  return found;
}

}  // namespace ringside::mpi
