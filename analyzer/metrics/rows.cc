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

#include "analyzer/match/describe.h"
#include "analyzer/match/function_mismatch.h"
#include "analyzer/match/group_patterns.h"
#include "analyzer/match/ranges.h"
#include "analyzer/metrics/saturating.h"

namespace ringside::metrics {
namespace {

using model::State;
using model::TimesFrom;

constexpr std::size_t kExamples = 5;

// What makes two operations one row. Names are compared as text, so that the order is the reader's.
struct Key {
  std::uint32_t communicator = 0;
  std::string range;
  std::string_view function;
  std::optional<std::uint64_t> bytes;
  std::string_view datatype;
  std::string_view algorithm;
  std::string_view protocol;
  TimesFrom times_from = TimesFrom::kGpu;

  auto tied() const {
    return std::tie(communicator, range, function, bytes, datatype, algorithm, protocol,
                    times_from);
  }
  bool operator<(const Key& other) const { return tied() < other.tied(); }
};

// An AlltoAllv and the time it took; 0 where that is not known.
struct Sized {
  std::uint64_t bytes = 0;
  std::int64_t time_ns = 0;
};

struct Collected {
  Row row;
  RowTimes times;
  std::vector<Sized> sized;  // of AlltoAllv only, which are of any size
};

// NCCL tells nothing of the execution of an operation that is known by its enqueue only: such a one
// never looks unfinished.
bool is_finished(const model::Operation& operation) {
  return !operation.in_flight &&
         (operation.state == State::kCompleted ||
          (operation.state == State::kEnqueued && operation.times_from == TimesFrom::kEnqueue));
}

// The ranks' records of one operation, put together.
struct Joined {
  bool is_finished = true;
  State state = State::kCompleted;
  TimesFrom times_from = TimesFrom::kGpu;
  bool is_rejected = false;  // stamps of a GPU's channel were left out
  std::int64_t least_duration_ns = std::numeric_limits<std::int64_t>::max();
  std::optional<std::uint64_t> bytes;
};

Joined join(const model::Traces& traces, std::span<const match::Part> parts) {
  Joined joined;
  for (const match::Part& part : parts) {
    const model::Operation& operation = match::operation_of(traces, part);
    joined.is_rejected = joined.is_rejected || operation.gpu_rejected > 0;
    joined.is_finished = joined.is_finished && is_finished(operation);
    joined.state = std::max(joined.state, operation.state);
    joined.times_from = std::max(joined.times_from, operation.times_from);
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

// In a group a rank has several parts: its time is from the first start to the last end of these.
// Who only gives to a root, or only gets from it, is done before the others: there the root's
// counts.
std::int64_t duration_of_group(const model::Traces& traces, match::Pattern pattern,
                               std::span<const match::Part> parts) {
  const bool has_root = pattern == match::Pattern::kGather || pattern == match::Pattern::kScatter;
  std::int64_t duration_ns = std::numeric_limits<std::int64_t>::max();
  std::size_t most = 0;
  for (std::size_t i = 0; i < parts.size();) {
    const std::size_t first = i;
    std::int64_t start_ns = std::numeric_limits<std::int64_t>::max();
    std::int64_t end_ns = std::numeric_limits<std::int64_t>::min();
    for (; i < parts.size() && parts[i].member == parts[first].member; ++i) {
      const model::Operation& operation = match::operation_of(traces, parts[i]);
      start_ns = std::min(start_ns, operation.start_ns.value_or(start_ns));
      end_ns = std::max(end_ns, operation.end_ns.value_or(end_ns));
    }
    if (start_ns <= end_ns && (!has_root || i - first > most)) {
      most = i - first;
      const std::int64_t here_ns = subtract_saturating(end_ns, start_ns);
      duration_ns = has_root ? here_ns : std::min(duration_ns, here_ns);
    }
  }
  return duration_ns;
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

// The median over operations of each one's own bandwidth: a time says nothing without its size.
Bandwidth median_bandwidth(std::string_view function, const std::vector<Sized>& sized,
                           std::uint32_t ranks) {
  const auto median_of = [&](std::optional<double> Bandwidth::*figure) {
    std::vector<double> values;
    for (const Sized& one : sized) {
      const auto value =
          bandwidth(function, one.bytes, ranks, static_cast<double>(one.time_ns)).*figure;
      if (value) {
        values.push_back(*value);
      }
    }
    std::sort(values.begin(), values.end());
    return values.empty()
               ? std::nullopt
               : std::optional((values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2);
  };
  return {median_of(&Bandwidth::algbw_gb_s), median_of(&Bandwidth::busbw_gb_s)};
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
  Summer(const model::Traces& traces, const match::Matches& matches,
         const align::Alignment& alignment, bool by_range)
      : traces_(traces),
        matches_(matches),
        alignment_(alignment),
        result_(matches.communicators.size()) {
    if (by_range) {
      ranges_.emplace(traces);
    }
  }

  std::vector<CommunicatorRows> sum() {
    judgements_ = match::judge_all(traces_, matches_);
    for (std::size_t i = 0; i < judgements_.size(); ++i) {
      add(i);
    }
    for (auto& [key, collected] : collected_) {
      result_[key.communicator].rows.push_back(finish(key, std::move(collected)));
    }
    return std::move(result_);
  }

 private:
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
    Joined joined = join(traces_, match::parts_of(matches_, operation));
    if (operation.way == match::Way::kGroup) {
      joined.bytes = match::group_bytes(traces_, matches_, operation);
      joined.least_duration_ns =
          duration_of_group(traces_, operation.pattern, match::parts_of(matches_, operation));
    }
    if (!joined.is_finished) {
      ++communicator.unfinished[static_cast<std::size_t>(joined.state)];
    } else if (!match::disagrees(judgement)) {
      add_to_row(operation, joined);
    }
  }

  // That a rank has no trace at all is said once, not for each of its operations.
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

  void add_to_row(const match::MatchedOperation& operation, const Joined& joined) {
    const match::Part& part = matches_.parts[operation.first_part];
    const model::Operation& first = match::operation_of(traces_, part);
    const std::string_view function = function_of(traces_, operation);
    const bool has_any_size = operation.pattern == match::Pattern::kAlltoAllv;
    const Key key{
        operation.communicator,
        ranges_ ? ranges_->text(ranges_->of(traces_, matches_, operation)) : std::string(),
        function,
        has_any_size ? std::nullopt : joined.bytes,
        traces_.names.text(first.datatype),
        traces_.names.text(first.algo),
        traces_.names.text(first.proto),
        joined.times_from};
    auto& [row, times, sized] = collected_[key];
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
    std::int64_t time_ns = 0;
    if (joined.times_from != TimesFrom::kEnqueue) {
      const auto taken =
          times.add(traces_, matches_, alignment_, operation, joined.least_duration_ns);
      row.by_least += taken == RowTimes::Taken::kLeast ? 1 : 0;
      row.excluded += taken == RowTimes::Taken::kExcluded ? 1 : 0;
      time_ns = taken == RowTimes::Taken::kExcluded ? 0 : times.last_ns();
    }
    if (has_any_size && joined.bytes) {
      sized.push_back({*joined.bytes, time_ns});
    }
  }

  Row finish(const Key& key, Collected&& collected) const {
    Row row = std::move(collected.row);
    row.range = key.range;
    row.function = key.function;
    row.bytes = row.bytes_min = row.bytes_max = key.bytes;
    sum_up_sizes(collected.sized, row);
    row.datatype = key.datatype;
    row.algorithm = key.algorithm;
    row.protocol = key.protocol;
    row.times_from = key.times_from;
    row.busy = collected.times.busy();
    row.wall = collected.times.wall();
    row.wait = collected.times.wait();
    const bool may_have_bandwidth =
        key.times_from == TimesFrom::kGpu || key.times_from == TimesFrom::kProxy;
    if (may_have_bandwidth && row.bytes && row.busy) {
      // One rank by itself says nothing of how many there are: what depends on that is left out.
      const bool is_alone =
          matches_.communicators[key.communicator].identity == match::Identity::kAlone;
      const std::uint32_t ranks = is_alone ? 1 : row.ranks;
      row.bandwidth = collected.sized.empty()
                          ? bandwidth(row.function, *row.bytes, ranks, row.busy->median_ns)
                          : median_bandwidth(row.function, collected.sized, ranks);
      row.algbw_inferred = row.ranks_inferred && size_depends_on_ranks(row.function);
      row.busbw_inferred = row.ranks_inferred && busbw_depends_on_ranks(row.function);
    }
    return row;
  }

  const model::Traces& traces_;
  const match::Matches& matches_;
  const align::Alignment& alignment_;
  std::optional<match::Ranges> ranges_;
  std::vector<match::Judgement> judgements_;
  std::vector<CommunicatorRows> result_;
  std::map<Key, Collected> collected_;
};

}  // namespace

std::string_view function_of(const model::Traces& traces,
                             const match::MatchedOperation& operation) {
  if (operation.way == match::Way::kGroup) {
    return match::pattern_name(operation.pattern);
  }
  return operation.way != match::Way::kPair ? traces.names.text(operation.func)
         : match::is_to_self(operation)     ? "SendRecv to self"
                                            : kSendRecv;
}

bool least_flatters(std::string_view function) {
  return function == "Broadcast" || function == "Reduce" || function == "Gather" ||
         function == "Scatter";
}

std::vector<CommunicatorRows> make_rows(const model::Traces& traces, const match::Matches& matches,
                                        const align::Alignment& alignment, bool by_range) {
  return Summer(traces, matches, alignment, by_range).sum();
}

}  // namespace ringside::metrics
