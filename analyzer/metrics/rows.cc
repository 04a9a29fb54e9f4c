// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/rows.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include "analyzer/facts/groups.h"
#include "analyzer/match/describe.h"
#include "analyzer/match/function_mismatch.h"
#include "analyzer/match/group_patterns.h"
#include "analyzer/metrics/group_rows.h"
#include "analyzer/metrics/percentile.h"
#include "analyzer/model/parallel.h"
#include "analyzer/model/saturating.h"

namespace ringside::metrics {
namespace {

using model::State;
using model::TimesFrom;

constexpr std::size_t kExamples = 5;

// Operations with the same key are one row. Names are compared as text, so that the order is the
// reader's.
struct Key {
  std::uint32_t communicator = 0;
  std::string by;
  std::string_view function;
  std::optional<std::uint64_t> bytes;
  std::string_view datatype;
  std::string_view algorithm;
  std::string_view protocol;
  TimesFrom times_from = TimesFrom::kGpu;
  bool is_grouped = false;

  auto tied() const {
    return std::tie(communicator, by, function, bytes, datatype, algorithm, protocol, times_from,
                    is_grouped);
  }
  bool operator<(const Key& other) const { return tied() < other.tied(); }
};

// An AlltoAllv and the time it took, if that is known.
struct Sized {
  std::uint64_t bytes = 0;
  std::optional<facts::Interval> busy;
  std::int64_t best_busy_ns = 0;
};

// One thread takes so many operations at a time.
constexpr std::size_t kPortion = 64;

// The times of a row's operations, which come in any order.
struct Times {
  RowTimes times;
  std::vector<Sized> sized;  // of each operation, if they are of any size: of AlltoAllv only
  // Operations with figures that lack something.
  std::uint64_t excluded = 0;
  std::uint64_t on_some_ranks = 0;
  std::uint64_t unbounded = 0;
};

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
  std::int64_t least_duration_ns = std::numeric_limits<std::int64_t>::max();
  std::optional<std::uint64_t> bytes;
};

Joined join(std::span<const model::Execution> executions) {
  Joined joined;
  for (const model::Execution& operation : executions) {
    joined.is_rejected = joined.is_rejected || operation.gpu_rejected > 0;
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

void sum_up_sizes(const std::vector<Sized>& sized, Row& row) {
  if (sized.empty()) {
    return;
  }
  std::vector<std::uint64_t> sizes_bytes;
  sizes_bytes.reserve(sized.size());
  for (const Sized& one : sized) {
    sizes_bytes.push_back(one.bytes);
  }
  std::sort(sizes_bytes.begin(), sizes_bytes.end());
  row.bytes = sizes_bytes[(sizes_bytes.size() - 1) / 2];
  row.bytes_min = sizes_bytes.front();
  row.bytes_max = sizes_bytes.back();
}

using Which = std::optional<double> Bandwidth::*;

// The longest time makes the least bandwidth. A time that may be 0 leaves the most open.
std::optional<Figure> bandwidth_figure(std::string_view function, std::uint64_t bytes,
                                       std::uint32_t ranks, const Figure& time_ns, Which which) {
  const auto least = bandwidth(function, bytes, ranks, time_ns.most).*which;
  const auto best = bandwidth(function, bytes, ranks, time_ns.best).*which;
  const auto most = bandwidth(function, bytes, ranks, time_ns.least).*which;
  if (!least) {
    return std::nullopt;
  }
  constexpr double kNoLimit = std::numeric_limits<double>::infinity();
  return Figure{*least, best.value_or(kNoLimit), most.value_or(kNoLimit)};
}

// The median over operations of each one's own bandwidth: a time says nothing without its size.
std::optional<Figure> median_bandwidth(std::string_view function, const std::vector<Sized>& sized,
                                       std::uint32_t ranks, Which which) {
  std::vector<double> least;
  std::vector<double> best;
  std::vector<double> most;
  for (const Sized& one : sized) {
    if (!one.busy) {
      continue;
    }
    const Figure time_ns{static_cast<double>(one.busy->least_ns),
                         static_cast<double>(one.best_busy_ns),
                         static_cast<double>(one.busy->most_ns)};
    if (const auto figure = bandwidth_figure(function, one.bytes, ranks, time_ns, which)) {
      least.push_back(figure->least);
      best.push_back(figure->best);
      most.push_back(figure->most);
    }
  }
  if (least.empty()) {
    return std::nullopt;
  }
  return Figure{*median_of(std::move(least)), *median_of(std::move(best)),
                *median_of(std::move(most))};
}

// How many operations one that was kept stands for.
double weight_of(const model::Sampling& sampling, const model::Operation& operation) {
  const bool has_windows = sampling.window_ns > 0 && sampling.period_ns > sampling.window_ns;
  const double of_time = has_windows ? static_cast<double>(sampling.period_ns) /
                                           static_cast<double>(sampling.window_ns)
                                     : 1;
  return static_cast<double>(std::max<std::uint64_t>(operation.sample_of, 1)) * of_time;
}

// Operations come in any order and on several threads; finish() adds those that have not come.
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
        of_thread_(core_count()),
        result_(matches_.communicators.size()) {
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

  std::vector<CommunicatorRows> finish() {
    add_others();
    GroupRows group_rows(facts_);
    for (const auto& group : groups_) {
      // A group has a row of its own only if each of its members has a row.
      if (std::all_of(group.begin(), group.end(), [&](std::uint32_t i) { return is_in_row(i); })) {
        group_rows.add(group, by_of(matches_.operations[group.front()]));
      }
    }
    for (std::size_t i = 0; i < judgements_.size(); ++i) {
      count(i);
    }
    for (auto& [key, row] : rows_) {
      Times times;
      for (auto& own : of_thread_) {
        if (const auto found = own.find(key); found != own.end()) {
          take(std::move(found->second), times);
        }
      }
      result_[key.communicator].rows.push_back(finish(key, std::move(row), times));
    }
    group_rows.finish(result_);
    return std::move(result_);
  }

 private:
  void add_others() {
    std::vector<std::uint32_t> others;
    for (std::uint32_t i = 0; i < joined_.size(); ++i) {
      if (!joined_[i]) {
        others.push_back(i);
      }
    }
    for_each_on_cores(others.size() / kPortion + 1, [&](std::size_t thread, std::size_t portion) {
      const std::size_t first = portion * kPortion;
      facts_.ranks_of_each(
          std::span(others).subspan(first, std::min(kPortion, others.size() - first)),
          [&](std::size_t, const facts::SeenOperation& seen) { add(thread, seen); });
    });
  }

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
    CommunicatorRows& communicator = result_[operation.communicator];
    ++communicator.operations;
    ++communicator.verdicts[static_cast<std::size_t>(judgement.verdict)];
    communicator.repeated += operation.occurrence > 0 ? 1 : 0;
    if (judgement.verdict != match::Verdict::kMatched) {
      add_example(index, communicator);
    }
    if (!joined_[index]->is_finished) {
      ++communicator.unfinished[static_cast<std::size_t>(joined_[index]->state)];
    } else if (is_in_row(index)) {
      count_in_row(index);
    }
  }

  // A rank without a trace is an example once, not for each of its operations.
  void add_example(std::size_t index, CommunicatorRows& communicator) {
    const match::MatchedOperation& operation = matches_.operations[index];
    const match::Judgement& judgement = judgements_[index];
    if (!match::is_first_of_its_place(judgements_, index)) {
      return;
    }
    if (judgement.verdict == match::Verdict::kNotRecorded &&
        match::absent_ranks(matches_, operation, judgement).empty()) {
      return;
    }
    if (communicator.examples.size() == kExamples) {
      ++communicator.examples_left_out;
      return;
    }
    communicator.examples.push_back(match::describe(traces_, matches_, judgements_, index));
  }

  Key key_of(std::size_t index) const {
    const match::MatchedOperation& operation = matches_.operations[index];
    const model::Operation first =
        match::operation_of(traces_, matches_.parts[operation.first_part]);
    const Joined& joined = *joined_[index];
    return {operation.communicator,
            by_of(operation),
            function_of(traces_, operation),
            has_any_size(operation) ? std::nullopt : joined.bytes,
            traces_.names.text(first.datatype),
            traces_.names.text(first.algo),
            traces_.names.text(first.proto),
            joined.ran_by.value_or(joined.times_from),
            is_grouped_[index]};
  }

  static bool has_any_size(const match::MatchedOperation& operation) {
    return operation.pattern == match::Pattern::kAlltoAllv;
  }

  void count_in_row(std::size_t index) {
    const match::MatchedOperation& operation = matches_.operations[index];
    const match::Part& part = matches_.parts[operation.first_part];
    Row& row = rows_[key_of(index)];
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
    row.is_grouped = is_grouped_[index];
  }

  void add_times(const facts::SeenOperation& seen, const Joined& joined, Times& times) const {
    const match::MatchedOperation& operation = matches_.operations[seen.index];
    const facts::OperationFacts& facts = seen.facts;
    if (has_any_size(operation) && joined.bytes) {
      times.sized.push_back(
          {*joined.bytes, facts.is_impossible ? std::nullopt : facts.busy, facts.best_busy_ns});
    }
    if (facts.is_impossible) {
      ++times.excluded;
    } else if (facts.ranks_timed > 0) {
      times.times.add(facts, seen.rows);
      times.on_some_ranks += facts.ranks_timed < match::ranks_expected(matches_, operation) ? 1 : 0;
      times.unbounded += facts.busy ? 0 : 1;
    } else if (joined.times_from == TimesFrom::kProxyQueue && joined.least_duration_ns >= 0) {
      times.times.add_queued(joined.least_duration_ns);
    }
  }

  static void take(Times&& own, Times& all) {
    all.excluded += own.excluded;
    all.on_some_ranks += own.on_some_ranks;
    all.unbounded += own.unbounded;
    all.times.take(std::move(own.times));
    all.sized.insert(all.sized.end(), own.sized.begin(), own.sized.end());
  }

  Row finish(const Key& key, Row row, const Times& times) const {
    row.excluded = times.excluded;
    row.on_some_ranks = times.on_some_ranks;
    row.unbounded = times.unbounded;
    row.by = key.by;
    row.function = key.function;
    row.bytes = row.bytes_min = row.bytes_max = key.bytes;
    sum_up_sizes(times.sized, row);
    row.datatype = key.datatype;
    row.algorithm = key.algorithm;
    row.protocol = key.protocol;
    row.times_from = key.times_from;
    const auto [busy, wall, wait] = times.times.spreads();
    row.busy = busy;
    row.wall = wall;
    row.wait = wait;
    row.waited_ns = times.times.waited_ns();
    const bool may_have_bandwidth = model::tells_execution(key.times_from);
    if (may_have_bandwidth && row.bytes && row.busy) {
      // One rank by itself says nothing of how many there are: what depends on that is left out.
      const bool is_alone =
          matches_.communicators[key.communicator].identity == match::Identity::kAlone;
      const std::uint32_t ranks = is_alone ? 1 : row.ranks;
      const auto figure = [&](Which which) {
        return times.sized.empty()
                   ? bandwidth_figure(row.function, *row.bytes, ranks, row.busy->median, which)
                   : median_bandwidth(row.function, times.sized, ranks, which);
      };
      row.algbw_gb_s = figure(&Bandwidth::algbw_gb_s);
      row.busbw_gb_s = figure(&Bandwidth::busbw_gb_s);
      row.nominal_gb_s = figure(&Bandwidth::nominal_gb_s);
      row.algbw_inferred = row.ranks_inferred && size_depends_on_ranks(row.function);
      row.busbw_inferred = row.ranks_inferred && busbw_depends_on_ranks(row.function);
    }
    return row;
  }

  const facts::Facts& facts_;
  const model::Traces& traces_;
  const match::Matches& matches_;
  const std::vector<match::Judgement>& judgements_;
  const Grouping grouping_;
  const facts::Fold& also_;
  const std::vector<std::vector<std::uint32_t>> groups_;
  std::vector<bool> is_grouped_;               // by operation
  std::vector<std::optional<Joined>> joined_;  // likewise; nothing until it has come
  std::vector<std::map<Key, Times>> of_thread_;
  std::vector<CommunicatorRows> result_;
  std::map<Key, Row> rows_;
};

}  // namespace

std::string_view function_of(const model::Traces& traces,
                             const match::MatchedOperation& operation) {
  return match::is_to_self(operation) ? "SendRecv to self"
                                      : match::function_name(traces, operation);
}

std::vector<CommunicatorRows> make_rows(const facts::Facts& facts, RowsBy by,
                                        Stragglers* stragglers, const facts::Fold& also) {
  Summer summer(facts, by, also);
  if (stragglers != nullptr) {
    *stragglers = find_stragglers(
        facts, RowsBy::kCaller,
        [&](std::size_t thread, const facts::SeenOperation& seen) { summer.add(thread, seen); });
  }
  return summer.finish();
}

}  // namespace ringside::metrics
