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
#include "analyzer/match/executions.h"
#include "analyzer/match/function_mismatch.h"
#include "analyzer/match/group_patterns.h"
#include "analyzer/match/ranges.h"
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
  std::optional<std::uint64_t> bytes;
  std::optional<facts::Interval> busy;
  std::int64_t best_busy_ns = 0;
};

// One thread takes so many operations at a time.
constexpr std::size_t kPortion = 1024;
constexpr std::size_t kTimedPortion = 64;

struct Collected {
  Row row;
  RowTimes times;
  std::vector<std::uint32_t> operations;
  std::vector<Sized> sized;  // of each of these, if they are of any size: of AlltoAllv only
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
    joined.times_from = std::max(joined.times_from, operation.times_from);
    if (facts::ran_to_its_end(operation)) {
      joined.ran_by = std::max(joined.ran_by.value_or(operation.times_from), operation.times_from);
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
    sizes_bytes.push_back(*one.bytes);
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
    if (const auto figure = bandwidth_figure(function, *one.bytes, ranks, time_ns, which)) {
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

// How many operations of a row have figures that lack something.
struct Counts {
  std::uint64_t excluded = 0;
  std::uint64_t on_some_ranks = 0;
  std::uint64_t unbounded = 0;
};

class Summer {
 public:
  Summer(const facts::Facts& facts, RowsBy by)
      : facts_(facts),
        traces_(facts.traces()),
        matches_(facts.matches()),
        judgements_(facts.judgements()),
        by_(by),
        result_(matches_.communicators.size()) {
    if (by == RowsBy::kRange) {
      ranges_.emplace(traces_);
    }
  }

  std::vector<CommunicatorRows> sum() {
    is_grouped_.resize(judgements_.size());
    joined_.resize(judgements_.size());
    for_each_on_cores(joined_.size() / kPortion + 1, [&](std::size_t, std::size_t portion) {
      const std::size_t first = portion * kPortion;
      const auto some = match::portion_of(first, kPortion, joined_.size());
      match::Executions memory;
      match::read_executions(traces_, matches_, some, memory, [&](std::size_t i, auto executions) {
        joined_[first + i] = join(executions);
      });
    });
    GroupRows group_rows(facts_);
    for (const auto& group : facts::find_groups(traces_, matches_)) {
      add_group(group, group_rows);
    }
    for (std::size_t i = 0; i < judgements_.size(); ++i) {
      add(i);
    }
    for (auto& [key, collected] : collected_) {
      add_times(collected);
      result_[key.communicator].rows.push_back(finish(key, std::move(collected)));
      collected = {};
    }
    group_rows.finish(result_);
    return std::move(result_);
  }

 private:
  // A group has a row of its own only if each of its members has a row.
  void add_group(const std::vector<std::uint32_t>& group, GroupRows& group_rows) {
    const bool is_whole = std::all_of(group.begin(), group.end(), [&](std::uint32_t i) {
      return !match::disagrees(judgements_[i]) && joined_[i].is_finished;
    });
    for (const std::uint32_t i : group) {
      is_grouped_[i] = true;
    }
    if (is_whole) {
      group_rows.add(group, by_of(matches_.operations[group.front()]));
    }
  }

  model::NameId name_of(const match::MatchedOperation& operation,
                        model::NameId model::Operation::*member) const {
    return match::name_of_first(traces_, matches_, operation, member);
  }

  std::string by_of(const match::MatchedOperation& operation) const {
    switch (by_) {
      case RowsBy::kRange:
        return ranges_->text(ranges_->of(traces_, matches_, operation));
      case RowsBy::kCaller:
        return match::caller_text(traces_, name_of(operation, &model::Operation::called_by));
      case RowsBy::kUserTag:
        return std::string(traces_.names.text(name_of(operation, &model::Operation::user_tag)));
      case RowsBy::kKind:
        break;
    }
    return {};
  }

  void add(std::size_t index) {
    const match::MatchedOperation& operation = matches_.operations[index];
    const match::Judgement& judgement = judgements_[index];
    CommunicatorRows& communicator = result_[operation.communicator];
    ++communicator.operations;
    ++communicator.verdicts[static_cast<std::size_t>(judgement.verdict)];
    communicator.repeated += operation.occurrence > 0 ? 1 : 0;
    if (judgement.verdict != match::Verdict::kMatched) {
      add_example(index, communicator);
    }
    Joined& joined = joined_[index];
    if (operation.way == match::Way::kGroup) {
      joined.bytes = match::group_bytes(traces_, matches_, operation);
    }
    if (!joined.is_finished) {
      ++communicator.unfinished[static_cast<std::size_t>(joined.state)];
    } else if (!match::disagrees(judgement)) {
      add_to_row(index, joined);
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

  void add_to_row(std::size_t index, const Joined& joined) {
    const match::MatchedOperation& operation = matches_.operations[index];
    const match::Part& part = matches_.parts[operation.first_part];
    const model::Operation& first = match::operation_of(traces_, part);
    const std::string_view function = function_of(traces_, operation);
    const bool has_any_size = operation.pattern == match::Pattern::kAlltoAllv;
    const Key key{operation.communicator,
                  by_of(operation),
                  function,
                  has_any_size ? std::nullopt : joined.bytes,
                  traces_.names.text(first.datatype),
                  traces_.names.text(first.algo),
                  traces_.names.text(first.proto),
                  joined.ran_by.value_or(joined.times_from),
                  is_grouped_[index]};
    auto& [row, times, operations, sized] = collected_[key];
    const std::uint32_t expected = match::ranks_expected(matches_, operation);
    const std::uint32_t seen = match::ranks_seen(matches_, operation);
    row.ranks_seen = row.count == 0 ? seen : std::min(row.ranks_seen, seen);
    row.ranks = expected;
    row.ranks_inferred = operation.way != match::Way::kPair &&
                         matches_.communicators[operation.communicator].nranks_inferred;
    ++row.count;
    const double weight = weight_of(traces_.files[part.file].process.sampling, first);
    row.count_scaled += weight;
    row.is_sampled = row.is_sampled || weight != 1;
    row.partial += seen < expected ? 1 : 0;
    row.gpu_rejected += joined.is_rejected ? 1 : 0;
    row.is_grouped = key.is_grouped;
    if (key.is_grouped) {
      return;  // the group has its times
    }
    operations.push_back(static_cast<std::uint32_t>(index));
    if (has_any_size) {
      sized.push_back({joined.bytes, std::nullopt, 0});
    }
  }

  // The facts of an operation come with its ranks, so all that needs them is done here. Any thread
  // may have any operation: but for `sized`, they are not told apart.
  void add_times(Collected& collected) const {
    struct Own {
      Counts counts;
      RowTimes times;
    };
    const std::span<const std::uint32_t> operations = collected.operations;
    std::vector<Own> of_thread(core_count());
    for_each_on_cores(
        operations.size() / kTimedPortion + 1, [&](std::size_t thread, std::size_t portion) {
          Own& own = of_thread[thread];
          const std::size_t first = portion * kTimedPortion;
          const auto some =
              operations.subspan(first, std::min(kTimedPortion, operations.size() - first));
          facts_.ranks_of_each(some, [&](std::size_t i, const facts::OperationFacts& facts,
                                         const std::vector<facts::RankTimes>& ranks) {
            add_facts(some[i], facts, ranks, own.counts, own.times);
            if (!collected.sized.empty() && !facts.is_impossible) {
              collected.sized[first + i].busy = facts.busy;
              collected.sized[first + i].best_busy_ns = facts.best_busy_ns;
            }
          });
        });
    for (Own& own : of_thread) {
      collected.row.excluded += own.counts.excluded;
      collected.row.on_some_ranks += own.counts.on_some_ranks;
      collected.row.unbounded += own.counts.unbounded;
      collected.times.take(std::move(own.times));
    }
    std::erase_if(collected.sized, [](const Sized& one) { return !one.bytes; });
  }

  void add_facts(std::size_t index, const facts::OperationFacts& facts,
                 const std::vector<facts::RankTimes>& ranks, Counts& counts,
                 RowTimes& times) const {
    const Joined& joined = joined_[index];
    if (facts.is_impossible) {
      ++counts.excluded;
    } else if (facts.ranks_timed > 0) {
      const std::uint32_t expected = match::ranks_expected(matches_, matches_.operations[index]);
      times.add(facts, ranks);
      counts.on_some_ranks += facts.ranks_timed < expected ? 1 : 0;
      counts.unbounded += facts.busy ? 0 : 1;
    } else if (joined.times_from == TimesFrom::kProxyQueue && joined.least_duration_ns >= 0) {
      times.add_queued(joined.least_duration_ns);
    }
  }

  Row finish(const Key& key, Collected&& collected) const {
    Row row = std::move(collected.row);
    row.by = key.by;
    row.function = key.function;
    row.bytes = row.bytes_min = row.bytes_max = key.bytes;
    sum_up_sizes(collected.sized, row);
    row.datatype = key.datatype;
    row.algorithm = key.algorithm;
    row.protocol = key.protocol;
    row.times_from = key.times_from;
    const auto [busy, wall, wait] = collected.times.spreads();
    row.busy = busy;
    row.wall = wall;
    row.wait = wait;
    row.waited_ns = collected.times.waited_ns();
    const bool may_have_bandwidth =
        key.times_from == TimesFrom::kGpu || key.times_from == TimesFrom::kProxy;
    if (may_have_bandwidth && row.bytes && row.busy) {
      // One rank by itself says nothing of how many there are: what depends on that is left out.
      const bool is_alone =
          matches_.communicators[key.communicator].identity == match::Identity::kAlone;
      const std::uint32_t ranks = is_alone ? 1 : row.ranks;
      const auto figure = [&](Which which) {
        return collected.sized.empty()
                   ? bandwidth_figure(row.function, *row.bytes, ranks, row.busy->median, which)
                   : median_bandwidth(row.function, collected.sized, ranks, which);
      };
      row.algbw_gb_s = figure(&Bandwidth::algbw_gb_s);
      row.busbw_gb_s = figure(&Bandwidth::busbw_gb_s);
      row.algbw_inferred = row.ranks_inferred && size_depends_on_ranks(row.function);
      row.busbw_inferred = row.ranks_inferred && busbw_depends_on_ranks(row.function);
    }
    return row;
  }

  const facts::Facts& facts_;
  const model::Traces& traces_;
  const match::Matches& matches_;
  const std::vector<match::Judgement>& judgements_;
  const RowsBy by_;
  std::optional<match::Ranges> ranges_;
  std::vector<bool> is_grouped_;  // by operation
  std::vector<Joined> joined_;    // likewise
  std::vector<CommunicatorRows> result_;
  std::map<Key, Collected> collected_;
};

}  // namespace

std::string_view function_of(const model::Traces& traces,
                             const match::MatchedOperation& operation) {
  return match::is_to_self(operation) ? "SendRecv to self"
                                      : match::function_name(traces, operation);
}

std::vector<CommunicatorRows> make_rows(const facts::Facts& facts, RowsBy by) {
  return Summer(facts, by).sum();
}

}  // namespace ringside::metrics
