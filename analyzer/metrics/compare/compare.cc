// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/compare/compare.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "analyzer/align/alignment.h"
#include "analyzer/facts/groups.h"
#include "analyzer/match/group_patterns.h"
#include "analyzer/match/verdict/describe.h"
#include "analyzer/match/verdict/function_mismatch.h"
#include "analyzer/metrics/bandwidth.h"
#include "analyzer/metrics/percentile.h"
#include "analyzer/metrics/rows/rows.h"
#include "analyzer/metrics/significance.h"
#include "analyzer/model/saturating.h"

namespace ringside::metrics {
namespace {

// The data of a root may lie in buffers until a late rank comes. This error is not alike on both
// sides, so such a time counts only if it is known to a tenth.
bool may_lie_in_buffers(const model::Traces& traces, const match::MatchedOperation& operation,
                        const facts::OperationFacts& known) {
  constexpr std::int64_t kKnownTo = 10;
  const facts::Flow flow = facts::flow_of_function(match::function_name(traces, operation));
  return (flow == facts::Flow::kFromRoot || flow == facts::Flow::kToRoot) &&
         subtract_saturating(known.busy->most_ns, known.busy->least_ns) >
             known.busy->most_ns / kKnownTo;
}

OperationKind kind_of(const model::Traces& traces, const match::Communicator& communicator) {
  std::set<std::string> hosts;
  for (const match::Member& member : communicator.members) {
    const model::Process& process = traces.files[member.file].process;
    hosts.insert(process.host);
  }
  OperationKind kind;
  kind.communicator = communicator.name;
  kind.nranks = communicator.nranks;
  kind.hosts = static_cast<std::uint32_t>(hosts.size());
  kind.nranks_inferred = communicator.nranks_inferred;
  return kind;
}

std::optional<double> busbw_of(const TimesOfKind& times, std::optional<double> time_ns) {
  if (!times.kind.bytes || !time_ns ||
      (times.kind.nranks_inferred && busbw_depends_on_ranks(times.kind.function))) {
    return std::nullopt;
  }
  return bandwidth(times.kind.function, *times.kind.bytes, times.is_alone ? 1 : times.ranks,
                   *time_ns)
      .busbw_gb_s;
}

// Fills in the sizes of both sides' operations of one size class.
void sum_up_sizes(const std::vector<TimedOperation>* a, const std::vector<TimedOperation>* b,
                  Change& change) {
  std::vector<std::uint64_t> sizes_bytes;
  for (const auto* const side : {a, b}) {
    if (side != nullptr) {
      for (const TimedOperation& one : *side) {
        sizes_bytes.push_back(one.bytes);
      }
    }
  }
  if (sizes_bytes.empty()) {
    return;
  }
  std::sort(sizes_bytes.begin(), sizes_bytes.end());
  change.bytes = sizes_bytes[(sizes_bytes.size() - 1) / 2];
  change.bytes_min = sizes_bytes.front();
  change.bytes_max = sizes_bytes.back();
}

template <typename Value>
std::optional<double> median_by(const std::vector<TimedOperation>& times, Value value) {
  std::vector<double> values;
  values.reserve(times.size());
  for (const TimedOperation& one : times) {
    values.push_back(static_cast<double>(value(one)));
  }
  return median_of(std::move(values));
}

std::optional<double> median_least(const std::vector<TimedOperation>& times) {
  return median_by(times, [](const TimedOperation& one) { return one.time.least_ns; });
}

std::optional<double> median_most(const std::vector<TimedOperation>& times) {
  return median_by(times, [](const TimedOperation& one) { return one.time.most_ns; });
}

std::optional<double> median_per_byte(const std::vector<TimedOperation>& times) {
  return median_by(times, [](const TimedOperation& one) {
    return static_cast<double>(one.best_ns) / static_cast<double>(one.bytes);
  });
}

std::optional<double> median_busbw(const TimesOfKind& times,
                                   const std::vector<TimedOperation>& sized) {
  std::vector<double> values;
  for (const TimedOperation& one : sized) {
    const auto value = bandwidth(times.kind.function, one.bytes, times.is_alone ? 1 : times.ranks,
                                 static_cast<double>(one.best_ns))
                           .busbw_gb_s;
    if (value) {
      values.push_back(*value);
    }
  }
  return median_of(std::move(values));
}

std::optional<double> change_percent(std::optional<double> before, std::optional<double> after) {
  return before && after && *before > 0 ? std::optional((*after / *before - 1) * 100)
                                        : std::nullopt;
}

// `per_byte`: of each time its bytes' share.
std::vector<TimesOfRun> by_run(const std::vector<TimedOperation>& times, bool per_byte) {
  std::vector<TimesOfRun> runs;
  std::optional<std::uint32_t> run;
  for (const TimedOperation& one : times) {
    if (run != one.run) {
      runs.emplace_back();
      run = one.run;
    }
    const double unit = per_byte ? static_cast<double>(one.bytes) : 1;
    runs.back().push_back(static_cast<double>(one.best_ns) / unit);
  }
  return runs;
}

// Keeps only the part of a change that sizes alone cannot have made.
void compare_sized(const std::vector<TimedOperation>& a, const std::vector<TimedOperation>& b,
                   std::size_t rows, Change& change) {
  const auto rate_percent = change_percent(median_per_byte(a), median_per_byte(b));
  const bool go_apart =
      !change.percent || !rate_percent || (*change.percent < 0) != (*rate_percent < 0);
  if (go_apart) {
    change.percent.reset();
  } else if (std::abs(*rate_percent) < std::abs(*change.percent)) {
    change.percent = rate_percent;
  }
  if (change.chance) {
    const Difference of_rates = difference_of(by_run(a, true), by_run(b, true), rows);
    change.chance = go_apart || of_rates.judged_by == JudgedBy::kNothing
                        ? 1
                        : std::max(*change.chance, of_rates.chance);
  }
}

void judge(const std::vector<TimedOperation>& a, const std::vector<TimedOperation>& b,
           std::size_t rows, Change& change) {
  change.percent = change_percent(change.median_a_ns, change.median_b_ns);
  change.percent_least = change_percent(median_most(a), median_least(b));
  change.percent_most = change_percent(median_least(a), median_most(b));
  const Difference found = difference_of(by_run(a, false), by_run(b, false), rows);
  change.judged_by = found.judged_by;
  change.units_a = found.units_a;
  change.units_b = found.units_b;
  if (found.judged_by != JudgedBy::kNothing) {
    change.chance = found.chance;
  }
  if (change.kind.is_size_class) {
    compare_sized(a, b, rows, change);
  }
}

Change change_of(const TimesOfKind* a, const TimesOfKind* b, std::size_t rows) {
  const TimesOfKind& either = a != nullptr ? *a : *b;
  Change change;
  change.kind = either.kind;
  change.is_in_a = a != nullptr;
  change.is_in_b = b != nullptr;
  change.bytes = change.bytes_min = change.bytes_max = either.kind.bytes;
  if (either.kind.is_size_class) {
    sum_up_sizes(a == nullptr ? nullptr : &a->times, b == nullptr ? nullptr : &b->times, change);
  }
  const auto take = [&](const TimesOfKind& times, std::uint64_t& count,
                        std::optional<double>& median_ns, std::optional<double>& busbw_gb_s,
                        std::optional<Peak>& peak) {
    const auto& timed = times.times;
    count = timed.size();
    median_ns = median_by(timed, [](const TimedOperation& one) { return one.best_ns; });
    busbw_gb_s = times.kind.is_size_class ? median_busbw(times, timed) : busbw_of(times, median_ns);
    peak = times.peak;
  };
  if (a != nullptr) {
    take(*a, change.count_a, change.median_a_ns, change.busbw_a_gb_s, change.peak_a);
  }
  if (b != nullptr) {
    take(*b, change.count_b, change.median_b_ns, change.busbw_b_gb_s, change.peak_b);
  }
  if (a != nullptr && b != nullptr && change.count_a > 0 && change.count_b > 0) {
    judge(a->times, b->times, rows, change);
  }
  return change;
}

// The peaks of the operations of one kind. They are one peak only if all agree.
class PeaksOfKinds {
 public:
  PeaksOfKinds(const facts::Facts& facts, bool knows_groups) : facts_(facts) {
    if (has_machines(facts.traces())) {
      links_ = find_links(facts.traces(), facts.matches());
    } else if (!knows_groups) {
      return;
    }
    is_grouped_.resize(facts.matches().operations.size());
    for (const auto& group : facts::find_groups(facts.traces(), facts.matches())) {
      for (const std::uint32_t index : group) {
        is_grouped_[index] = true;
      }
    }
  }

  // `index`: of the operation that is counted next.
  void add(std::size_t index, TimesOfKind& times) const {
    times.is_grouped = times.is_grouped || (!is_grouped_.empty() && is_grouped_[index]);
    if (links_.empty()) {
      return;
    }
    const match::Matches& matches = facts_.matches();
    const match::MatchedOperation& operation = matches.operations[index];
    const model::Operation first =
        match::operation_of(facts_.traces(), matches.parts[operation.first_part]);
    const auto& links = links_[operation.communicator];
    const auto peak = links && !is_grouped_[index] ? peak_of(*links, times.kind.function,
                                                             facts_.traces().names.text(first.algo))
                                                   : std::nullopt;
    if (times.times.empty()) {
      times.peak = peak;
    } else if (!peak || !times.peak || peak->busbw_gb_s != times.peak->busbw_gb_s) {
      times.peak.reset();
    }
  }

 private:
  const facts::Facts& facts_;
  std::vector<std::optional<CommunicatorLinks>> links_;  // of each communicator
  std::vector<bool> is_grouped_;                         // by operation
};

void sort_by_time(std::vector<TimedOperation>& times) {
  std::sort(times.begin(), times.end(), [](const TimedOperation& a, const TimedOperation& b) {
    return std::tie(a.run, a.at_ns, a.best_ns) < std::tie(b.run, b.at_ns, b.best_ns);
  });
}

}  // namespace

std::vector<TimesOfKind> times_of_kinds(const facts::Facts& facts, RowsBy by, bool knows_groups) {
  const model::Traces& traces = facts.traces();
  const match::Matches& matches = facts.matches();
  const Grouping grouping(traces, matches, by);
  std::vector<OperationKind> kinds;
  for (const match::Communicator& communicator : matches.communicators) {
    kinds.push_back(kind_of(traces, communicator));
  }
  const PeaksOfKinds peaks(facts, knows_groups);
  std::map<OperationKind, TimesOfKind> collected;
  std::vector<facts::RankTimes> rows;
  for (std::size_t i = 0; i < matches.operations.size(); ++i) {
    const match::MatchedOperation& operation = matches.operations[i];
    if (facts.judgements()[i].verdict != match::Verdict::kMatched) {
      continue;
    }
    const facts::OperationFacts known = facts.ranks_of(i, rows);
    if (known.basis != facts::Basis::kExecution || !known.has_all_ranks || known.is_impossible ||
        known.best_busy_ns <= 0 || may_lie_in_buffers(traces, operation, known)) {
      continue;
    }
    const match::Communicator& communicator = matches.communicators[operation.communicator];
    const model::Operation first = match::operation_of(traces, matches.parts[operation.first_part]);
    OperationKind kind = kinds[operation.communicator];
    kind.by = grouping.text_of(grouping.group_of(operation));
    kind.function = function_of(traces, operation);
    kind.bytes = operation.way == match::Way::kGroup
                     ? match::group_bytes(traces, matches, operation)
                     : first.bytes;
    const std::uint64_t bytes = kind.bytes.value_or(0);
    kind.is_size_class = operation.pattern == match::Pattern::kAlltoAllv && bytes > 0;
    if (kind.is_size_class) {
      kind.bytes = std::bit_floor(bytes);
    }
    kind.datatype = traces.names.text(first.datatype);
    TimesOfKind& times = collected[kind];
    times.kind = std::move(kind);
    times.ranks = match::ranks_expected(matches, operation);
    times.is_alone = !communicator.why_alone.empty() && communicator.nranks_inferred;
    peaks.add(i, times);
    times.times.push_back(
        {communicator.run, known.first_arrival_ns, bytes, *known.busy, known.best_busy_ns});
  }
  std::vector<TimesOfKind> all;
  for (auto& [kind, times] : collected) {
    sort_by_time(times.times);
    all.push_back(std::move(times));
  }
  return all;
}

IterationTimes iteration_times(const std::vector<RunIterations>& runs) {
  IterationTimes found;
  for (const RunIterations& run : runs) {
    TimesOfRun& durations_ns = found.duration_ns.emplace_back();
    for (const Iteration& one : run.iterations) {
      if (one.duration_ns && *one.duration_ns > 0) {
        durations_ns.push_back(static_cast<double>(*one.duration_ns));
      }
      if (one.waited_ns && run.ranks > 0) {
        found.waited_ns.push_back(static_cast<double>(*one.waited_ns) /
                                  static_cast<double>(run.ranks));
      }
    }
  }
  return found;
}

std::optional<IterationChange> compare(const IterationTimes& a, const IterationTimes& b) {
  const auto all = [](const IterationTimes& side) {
    std::vector<double> times_ns;
    for (const TimesOfRun& run : side.duration_ns) {
      times_ns.insert(times_ns.end(), run.begin(), run.end());
    }
    return times_ns;
  };
  const std::vector<double> times_a_ns = all(a);
  const std::vector<double> times_b_ns = all(b);
  if (times_a_ns.empty() || times_b_ns.empty()) {
    return std::nullopt;
  }
  return IterationChange{times_a_ns.size(),
                         times_b_ns.size(),
                         *median_of(times_a_ns),
                         *median_of(times_b_ns),
                         median_of(a.waited_ns),
                         median_of(b.waited_ns),
                         difference_of(a.duration_ns, b.duration_ns, 1)};
}

std::vector<Change> compare(const std::vector<TimesOfKind>& a, const std::vector<TimesOfKind>& b) {
  std::vector<Change> changes;
  const std::size_t rows = std::max<std::size_t>(std::min(a.size(), b.size()), 1);
  for (std::size_t i = 0, j = 0; i < a.size() || j < b.size();) {
    const bool has_a = i < a.size() && (j == b.size() || !(b[j].kind < a[i].kind));
    const bool has_b = j < b.size() && (i == a.size() || !(a[i].kind < b[j].kind));
    changes.push_back(change_of(has_a ? &a[i] : nullptr, has_b ? &b[j] : nullptr, rows));
    i += has_a ? 1 : 0;
    j += has_b ? 1 : 0;
  }
  std::vector<double> chances;
  for (const Change& change : changes) {
    if (change.chance) {
      chances.push_back(*change.chance);
    }
  }
  const std::vector<double> corrected = holm(chances);
  std::size_t next = 0;
  for (Change& change : changes) {
    if (change.chance) {
      change.chance = corrected[next++];
    }
  }
  return changes;
}

}  // namespace ringside::metrics
