// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/rows/rows.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include "analyzer/facts/groups.h"
#include "analyzer/match/group_patterns.h"
#include "analyzer/match/verdict/describe.h"
#include "analyzer/match/verdict/findings.h"
#include "analyzer/metrics/rows/group_rows.h"
#include "analyzer/metrics/rows/repeats.h"
#include "analyzer/metrics/rows/row_sums.h"
#include "analyzer/model/parallel.h"
#include "analyzer/model/saturating.h"

namespace ringside::metrics {
namespace {

using model::State;
using model::TimesFrom;

constexpr std::size_t kExamples = 5;

// NCCL tells nothing of the execution of an operation that is known by its enqueue only: such a one
// never looks unfinished.
bool is_finished(const model::Execution& operation) {
  return !operation.in_flight &&
         (operation.state == State::kCompleted ||
          (operation.state == State::kEnqueued && operation.times_from == TimesFrom::kEnqueue));
}

// The ranks' records of one operation, put together.
struct Joined {
  bool is_finished = true;
  State state = State::kCompleted;
  TimesFrom times_from = TimesFrom::kGpu;  // the weakest
  std::optional<TimesFrom> ran_by;         // the weakest of those that were seen to run
  bool is_rejected = false;                // stamps of a GPU's channel were left out
  bool is_of_graph = false;
  std::int64_t least_duration_ns = std::numeric_limits<std::int64_t>::max();
  std::optional<std::uint64_t> bytes;
};

Joined join(std::span<const model::Execution> executions) {
  Joined joined;
  for (const model::Execution& operation : executions) {
    joined.is_rejected = joined.is_rejected || operation.gpu_rejected > 0;
    joined.is_of_graph = joined.is_of_graph || operation.graph;
    joined.is_finished = joined.is_finished && is_finished(operation);
    joined.state = std::max(joined.state, operation.state);
    joined.times_from = model::weaker_of(joined.times_from, operation.times_from);
    if (facts::ran_to_its_end(operation)) {
      joined.ran_by =
          model::weaker_of(joined.ran_by.value_or(operation.times_from), operation.times_from);
    }
    if (!joined.bytes) {
      joined.bytes = operation.bytes;
    }
    if (operation.start_ns && operation.end_ns) {
      joined.least_duration_ns = std::min(
          joined.least_duration_ns, subtract_saturating(*operation.end_ns, *operation.start_ns));
    }
  }
  return joined;
}

// How many operations one that was kept stands for.
double weight_of(const model::Sampling& sampling, const model::Operation& operation) {
  const bool has_windows = sampling.window_ns > 0 && sampling.period_ns > sampling.window_ns;
  const double of_time = has_windows ? static_cast<double>(sampling.period_ns) /
                                           static_cast<double>(sampling.window_ns)
                                     : 1;
  return static_cast<double>(std::max<std::uint64_t>(operation.sample_of, 1)) * of_time;
}

class Summer {
 public:
  Summer(const facts::Facts& facts, RowsBy by, const facts::Fold& also)
      : facts_(facts),
        traces_(facts.traces()),
        matches_(facts.matches()),
        judgements_(facts.judgements()),
        grouping_(traces_, matches_, by),
        also_(also),
        groups_(facts::find_groups(traces_, matches_)),
        joined_(judgements_.size()),
        of_thread_(core_count()) {
    sums_.communicators.resize(matches_.communicators.size());
    is_grouped_.resize(judgements_.size());
    for (const auto& group : groups_) {
      for (const std::uint32_t i : group) {
        is_grouped_[i] = true;
      }
    }
  }

  void add(std::size_t thread, const facts::SeenOperation& seen) {
    if (also_) {
      also_(thread, seen);
    }
    const match::MatchedOperation& operation = matches_.operations[seen.index];
    Joined& joined = joined_[seen.index].emplace(join(seen.executions));
    if (operation.way == match::Way::kGroup) {
      joined.bytes = match::group_bytes(traces_, matches_, operation);
    }
    if (is_in_row(seen.index) && !is_grouped_[seen.index]) {  // the group has its times
      add_times(seen, joined, of_thread_[thread][key_of(seen.index)]);
    }
  }

  SummedRows finish() {
    facts_.for_each(
        [&](std::size_t thread, const facts::SeenOperation& seen) { add(thread, seen); });
    GroupRows group_rows(facts_);
    for (const auto& group : groups_) {
      // A group has a row of its own only if each of its members has a row.
      if (std::all_of(group.begin(), group.end(), [&](std::uint32_t i) { return is_in_row(i); })) {
        group_rows.add(group, by_of(matches_.operations[group.front()]), sums_.rows);
      }
    }
    for (std::size_t i = 0; i < judgements_.size(); ++i) {
      count(i);
    }
    for (auto& own : of_thread_) {
      for (auto& [key, times] : own) {
        sums_.rows[key].take_times(std::move(times));
      }
    }
    for (const Repeats& repeats : find_repeats(facts_)) {
      if (is_in_row(repeats.operation)) {
        sums_.rows[key_of(repeats.operation)].repeats.push_back({repeats.turn_ns, repeats.count});
      }
    }
    return std::move(sums_);
  }

 private:
  bool is_in_row(std::size_t index) const {
    return joined_[index]->is_finished && !match::disagrees(judgements_[index]);
  }

  // A caller that is not known is one of the rows.
  std::string by_of(const match::MatchedOperation& operation) const {
    std::string text = grouping_.text_of(grouping_.group_of(operation));
    return text.empty() && grouping_.by() == RowsBy::kCaller ? "unknown" : text;
  }

  void count(std::size_t index) {
    const match::MatchedOperation& operation = matches_.operations[index];
    const match::Judgement& judgement = judgements_[index];
    CommunicatorRows& communicator = sums_.communicators[operation.communicator];
    ++communicator.operations;
    ++communicator.verdicts[static_cast<std::size_t>(judgement.verdict)];
    communicator.repeated += operation.occurrence > 0 ? 1 : 0;
    add_example(index, communicator);
    if (!joined_[index]->is_finished) {
      ++communicator.unfinished[static_cast<std::size_t>(joined_[index]->state)];
    } else if (is_in_row(index)) {
      count_in_row(index);
    }
  }

  // A rank without a trace is an example once, not for each of its operations.
  void add_example(std::size_t index, CommunicatorRows& communicator) {
    if (!match::is_described(matches_, judgements_, index)) {
      return;
    }
    if (communicator.examples.size() == kExamples) {
      ++communicator.examples_left_out;
      return;
    }
    communicator.examples.push_back(match::describe(traces_, matches_, judgements_, index));
  }

  RowKey key_of(std::size_t index) const {
    const match::MatchedOperation& operation = matches_.operations[index];
    const model::Operation first =
        match::operation_of(traces_, matches_.parts[operation.first_part]);
    const Joined& joined = *joined_[index];
    const auto text_of = [&](model::NameId name) { return std::string(traces_.names.text(name)); };
    return {operation.communicator,
            false,
            by_of(operation),
            std::string(function_of(traces_, operation)),
            has_any_size(operation) ? std::nullopt : joined.bytes,
            text_of(first.datatype),
            text_of(first.algo),
            text_of(first.proto),
            joined.ran_by.value_or(joined.times_from),
            is_grouped_[index]};
  }

  static bool has_any_size(const match::MatchedOperation& operation) {
    return operation.pattern == match::Pattern::kAlltoAllv;
  }

  void count_in_row(std::size_t index) {
    const match::MatchedOperation& operation = matches_.operations[index];
    const match::Part& part = matches_.parts[operation.first_part];
    Row& row = sums_.rows[key_of(index)].row;
    const std::uint32_t expected = match::ranks_expected(matches_, operation);
    const std::uint32_t seen = match::ranks_seen(matches_, operation);
    row.ranks_seen = row.count == 0 ? seen : std::min(row.ranks_seen, seen);
    row.ranks = expected;
    row.ranks_inferred = operation.way != match::Way::kPair &&
                         matches_.communicators[operation.communicator].nranks_inferred;
    ++row.count;
    const double weight =
        weight_of(traces_.files[part.file].process.sampling, match::operation_of(traces_, part));
    row.count_scaled += weight;
    row.is_sampled = row.is_sampled || weight != 1;
    row.partial += seen < expected ? 1 : 0;
    row.gpu_rejected += joined_[index]->is_rejected ? 1 : 0;
    if (joined_[index]->is_of_graph) {
      const Joined& joined = *joined_[index];
      ++(joined.ran_by || joined.times_from != TimesFrom::kEnqueue ? row.replayed : row.captured);
    }
    row.is_grouped = is_grouped_[index];
  }

  void add_times(const facts::SeenOperation& seen, const Joined& joined, RowSums& sums) const {
    const match::MatchedOperation& operation = matches_.operations[seen.index];
    const facts::OperationFacts& facts = seen.facts;
    if (has_any_size(operation) && joined.bytes) {
      sums.sized.push_back(
          {*joined.bytes, facts.is_impossible ? std::nullopt : facts.busy, facts.best_busy_ns});
    }
    if (facts.is_impossible) {
      ++sums.row.excluded;
    } else if (facts.ranks_timed > 0) {
      sums.times.add(facts, seen.rows);
      sums.row.on_some_ranks +=
          facts.ranks_timed < match::ranks_expected(matches_, operation) ? 1 : 0;
    } else if (joined.times_from == TimesFrom::kProxyQueue && joined.least_duration_ns >= 0) {
      sums.times.add_queued(joined.least_duration_ns);
    }
  }

  const facts::Facts& facts_;
  const model::Traces& traces_;
  const match::Matches& matches_;
  const std::vector<match::Judgement>& judgements_;
  const Grouping grouping_;
  const facts::Fold& also_;
  const std::vector<std::vector<std::uint32_t>> groups_;
  std::vector<bool> is_grouped_;                      // by operation
  std::vector<std::optional<Joined>> joined_;         // likewise; nothing until it has come
  std::vector<std::map<RowKey, RowSums>> of_thread_;  // the times, and what these lack
  SummedRows sums_;
};

}  // namespace

std::string_view function_of(const model::Traces& traces,
                             const match::MatchedOperation& operation) {
  return match::is_to_self(operation) ? "SendRecv to self"
                                      : match::function_name(traces, operation);
}

SummedRows sum_up_rows(const facts::Facts& facts, RowsBy by, const facts::Fold& also) {
  return Summer(facts, by, also).finish();
}

std::vector<CommunicatorRows> make_rows(const facts::Facts& facts, RowsBy by,
                                        const facts::Fold& also) {
  return finish_rows(facts.matches(), sum_up_rows(facts, by, also));
}

}  // namespace ringside::metrics
