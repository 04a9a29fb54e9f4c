// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/iterations.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "analyzer/match/executions.h"
#include "analyzer/metrics/global_ranks.h"
#include "analyzer/metrics/iteration_figures.h"
#include "analyzer/metrics/own_calls.h"
#include "analyzer/model/parallel.h"
#include "analyzer/model/saturating.h"

namespace ringside::metrics {
namespace {

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

// The calls of a rank in one iteration, on its own time line.
struct Span {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;  // the next call after it; the greatest number if there is none
  std::uint32_t iteration = 0;
};

// The iteration that a rank is in, while the calls of the reference are followed.
struct Follower {
  std::uint32_t iteration = kNone;
  std::int64_t start_ns = 0;
  std::vector<Span> spans;  // of those that are behind it
};

class RunFinder {
 public:
  /// `are_known`: the waits are; else they are found.
  RunFinder(const facts::Facts& facts, const GlobalRanks& who, std::uint32_t run, bool are_known,
            RankWaits& waits)
      : facts_(facts),
        traces_(facts.traces()),
        matches_(facts.matches()),
        alignment_(facts.alignment()),
        who_(who),
        are_known_(are_known),
        waits_(waits) {
    result_.run = run;
    for (std::uint32_t i = 0; i < matches_.operations.size(); ++i) {
      if (matches_.communicators[matches_.operations[i].communicator].run == run) {
        operations_.push_back(i);
      }
    }
  }

  /// Nothing if the run has no operations with a time.
  std::optional<RunIterations> find(std::size_t length) {
    if (!choose_reference()) {
      return std::nullopt;
    }
    const Repetition repetition = find_repetition(traces_, matches_, calls_of_reference(), length);
    result_.scope = repetition.scope;
    result_.operations = repetition.calls.size();
    const OwnCall& first = repetition.calls.front();
    result_.zero_ns = alignment_.to_common_ns(matches_.parts[first.part].file, first.time_ns);
    const Periods& periods = repetition.periods;
    if (!periods.chosen) {
      if (periods.nearest) {
        result_.nearest_length = periods.nearest->block.size();
        result_.nearest_coverage = periods.nearest->coverage;
      }
      return std::move(result_);
    }
    for (std::size_t i = 0; i < periods.seen.size(); ++i) {
      if (i != *periods.chosen) {
        result_.other_lengths.push_back(periods.seen[i].block.size());
      }
    }
    if (repetition.with_roots_length > 0) {
      result_.other_lengths.push_back(repetition.with_roots_length);
    }
    result_.coverage = periods.seen[*periods.chosen].coverage;
    const Symbols block = begin_after_pause(repetition.calls, repetition.symbols,
                                            periods.seen[*periods.chosen].block);
    const std::vector<Turn> turns = find_turns(repetition.symbols, block);
    if (turns.empty()) {
      return std::move(result_);
    }
    make_iterations(repetition.calls, turns, block.size());
    follow(repetition.calls, turns);
    assign_others();
    measure();
    sum_up();
    return std::move(result_);
  }

 private:
  std::uint32_t rank_of(std::uint32_t operation, std::uint32_t member) const {
    return who_.of(matches_.operations[operation].communicator, member);
  }

  bool choose_reference() {
    std::vector<std::uint64_t> calls(who_.all().size());  // by rank
    for_each_caller(traces_, matches_, operations_,
                    [&](std::size_t i, std::uint32_t member, auto, auto) {
                      ++calls[rank_of(operations_[i], member)];
                    });
    const auto most = std::max_element(calls.begin(), calls.end());
    if (most == calls.end() || *most == 0) {
      return false;
    }
    reference_ = static_cast<std::uint32_t>(most - calls.begin());
    result_.reference = who_.all()[reference_].label;
    result_.ranks =
        calls.size() - static_cast<std::size_t>(std::count(calls.begin(), calls.end(), 0));
    return true;
  }

  std::vector<OwnCall> calls_of_reference() const {
    std::vector<OwnCall> calls;
    for (const std::uint32_t index : operations_) {
      const match::MatchedOperation& operation = matches_.operations[index];
      std::optional<OwnCall> first;
      for (std::size_t i = 0; i < operation.part_count; ++i) {
        const auto number = static_cast<std::uint32_t>(operation.first_part + i);
        const match::Part part = matches_.parts[number];
        if (rank_of(index, part.member) != reference_) {
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

  void make_iterations(const std::vector<OwnCall>& calls, const std::vector<Turn>& turns,
                       std::size_t length) {
    iteration_of_.assign(matches_.operations.size(), kNone);
    is_followed_.assign(matches_.operations.size(), false);
    for (const OwnCall& call : calls) {
      is_followed_[call.operation] = true;
    }
    result_.before = turns.front().begin;
    result_.after = calls.size() - turns.back().end;
    result_.between = calls.size() - result_.before - result_.after;
    for (std::uint32_t k = 0; k < turns.size(); ++k) {
      const Turn& turn = turns[k];
      Iteration& iteration = result_.iterations.emplace_back();
      iteration.operations = turn.end - turn.begin;
      result_.between -= iteration.operations;
      const OwnCall& first = calls[turn.begin];
      iteration.start_ns = alignment_.to_common_ns(matches_.parts[first.part].file, first.time_ns);
      for (std::size_t i = turn.begin; i < turn.end; ++i) {
        iteration_of_[calls[i].operation] = k;
      }
      if (result_.period.empty() && iteration.operations == length) {
        for (std::size_t i = turn.begin; i < turn.end; ++i) {
          result_.period.push_back(calls[i].operation);
        }
      }
    }
  }

  // Every rank goes through the iterations with the operations that it shares with the reference.
  void follow(const std::vector<OwnCall>& calls, const std::vector<Turn>& turns) {
    std::vector<std::vector<std::int64_t>> durations_ns(turns.size());
    std::vector<Follower> followers(who_.all().size());
    std::vector<std::uint32_t> operations;
    std::transform(calls.begin(), calls.end(), std::back_inserter(operations),
                   [](const OwnCall& call) { return call.operation; });
    for_each_caller(traces_, matches_, operations,
                    [&](std::size_t i, std::uint32_t member, auto, std::int64_t time_ns) {
                      const std::uint32_t now = iteration_of_[operations[i]];
                      Follower& at = followers[rank_of(operations[i], member)];
                      if (at.iteration == now) {
                        at.start_ns = std::min(at.start_ns, time_ns);
                        return;
                      }
                      if (at.iteration != kNone) {
                        at.spans.push_back({at.start_ns, time_ns, at.iteration});
                        // Later than in the next iteration: records of this rank are missing in
                        // between.
                        const bool is_next =
                            at.iteration + 1 == turns.size() || i < turns[at.iteration + 1].end;
                        const std::int64_t duration_ns = subtract_saturating(time_ns, at.start_ns);
                        if (is_next && duration_ns >= 0) {
                          durations_ns[at.iteration].push_back(duration_ns);
                        }
                      }
                      at.iteration = now;
                      at.start_ns = time_ns;
                    });
    std::uint64_t together = 0;
    for (Follower& at : followers) {
      if (at.iteration != kNone) {
        at.spans.push_back({at.start_ns, std::numeric_limits<std::int64_t>::max(), at.iteration});
      }
      std::sort(at.spans.begin(), at.spans.end(), [](const Span& a, const Span& b) {
        return std::tie(a.start_ns, a.iteration) < std::tie(b.start_ns, b.iteration);
      });
      together += at.spans.empty() ? 0 : 1;
      spans_.push_back(std::move(at.spans));
    }
    result_.ranks_apart = result_.ranks - together;
    for (std::size_t k = 0; k < turns.size(); ++k) {
      result_.iterations[k].ranks = durations_ns[k].size();
      result_.iterations[k].duration_ns = median_over_ranks(durations_ns[k]);
    }
  }

  // An operation without the reference is of the iteration in which the first of its ranks that is
  // in any called it.
  void assign_others() {
    std::vector<std::uint32_t> others;
    std::copy_if(operations_.begin(), operations_.end(), std::back_inserter(others),
                 [&](std::uint32_t i) { return !is_followed_[i]; });
    for_each_caller(traces_, matches_, others,
                    [&](std::size_t i, std::uint32_t member, auto, std::int64_t time_ns) {
                      std::uint32_t& iteration = iteration_of_[others[i]];
                      if (iteration == kNone) {
                        iteration = iteration_at(rank_of(others[i], member), time_ns);
                      }
                    });
  }

  std::uint32_t iteration_at(std::uint32_t rank, std::int64_t time_ns) const {
    const auto& spans = spans_[rank];
    const auto after =
        std::upper_bound(spans.begin(), spans.end(), time_ns,
                         [](std::int64_t time, const Span& span) { return time < span.start_ns; });
    return after == spans.begin() || std::prev(after)->end_ns <= time_ns
               ? kNone
               : std::prev(after)->iteration;
  }

  // Short iterations are read together, since it takes longer to read few operations at a time.
  void measure() {
    std::vector<OperationOf> ordered;
    for (const std::uint32_t i : operations_) {
      if (iteration_of_[i] != kNone) {
        ordered.push_back({iteration_of_[i], i});
      }
    }
    std::sort(ordered.begin(), ordered.end());
    constexpr std::size_t kOperations = match::Executions::kAtATime;
    const std::size_t count = result_.iterations.size();
    const std::size_t together =
        ordered.empty() ? 1 : std::max<std::size_t>(kOperations * count / ordered.size(), 1);
    for_each_on_cores(count / together + 1, [&](std::size_t thread, std::size_t portion) {
      const auto at = [&](std::size_t number) {
        return std::partition_point(ordered.begin(), ordered.end(),
                                    [&](const OperationOf& one) { return one.iteration < number; });
      };
      measure_iterations(facts_, who_, {at(portion * together), at((portion + 1) * together)},
                         are_known_ ? std::nullopt : std::optional(thread), waits_,
                         result_.iterations);
    });
  }

  void sum_up() {
    const auto distribution = [&](std::optional<std::int64_t> Iteration::*figure) {
      std::vector<std::int64_t> values;
      for (const Iteration& iteration : result_.iterations) {
        if (iteration.*figure) {
          values.push_back(*(iteration.*figure));
        }
      }
      return distribution_of(values);
    };
    result_.duration = distribution(&Iteration::duration_ns);
    result_.busy = distribution(&Iteration::busy_ns);
    result_.waited = distribution(&Iteration::waited_ns);
  }

  const facts::Facts& facts_;
  const model::Traces& traces_;
  const match::Matches& matches_;
  const align::Alignment& alignment_;
  const GlobalRanks& who_;
  const bool are_known_;
  RankWaits& waits_;
  std::vector<std::uint32_t> operations_;  // of the run
  std::uint32_t reference_ = 0;
  std::vector<std::uint32_t> iteration_of_;  // of each matched operation, or kNone
  std::vector<bool> is_followed_;            // calls of the reference, in the scope
  std::vector<std::vector<Span>> spans_;     // by rank, in the order of time
  RunIterations result_;
};

}  // namespace

std::vector<RunIterations> find_iterations(const facts::Facts& facts, std::size_t length,
                                           RankWaits* known) {
  const match::Matches& matches = facts.matches();
  const GlobalRanks who(facts.traces(), matches);
  std::optional<RankWaits> made;
  RankWaits& waits = known != nullptr ? *known : made.emplace(facts, who);
  std::set<std::uint32_t> runs;
  for (const match::MatchedOperation& operation : matches.operations) {
    runs.insert(matches.communicators[operation.communicator].run);
  }
  std::vector<RunIterations> found;
  for (const std::uint32_t run : runs) {
    auto of_run = RunFinder(facts, who, run, known != nullptr, waits).find(length);
    if (of_run) {
      found.push_back(std::move(*of_run));
    }
  }
  return found;
}

}  // namespace ringside::metrics
