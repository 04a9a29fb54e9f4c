// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/compare.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "analyzer/match/function_mismatch.h"
#include "analyzer/match/group_patterns.h"
#include "analyzer/metrics/bandwidth.h"
#include "analyzer/metrics/percentile.h"
#include "analyzer/metrics/rows.h"
#include "analyzer/metrics/significance.h"
#include "analyzer/metrics/timing.h"

namespace ringside::metrics {
namespace {

// The clocks may blur a busy time by this part of it.
constexpr std::int64_t kClockShare = 10;

// The least over the ranks of the time from a rank's first start to its last end; nothing unless
// the execution was seen to end on all, and the times can be true. Who only gives to a root, or
// only gets from it, is done before the others: there the most counts, which is the root's.
std::optional<std::int64_t> least_duration(const model::Traces& traces,
                                           const match::Matches& matches,
                                           const match::MatchedOperation& operation) {
  struct Span {
    std::int64_t start_ns = std::numeric_limits<std::int64_t>::max();
    std::int64_t end_ns = std::numeric_limits<std::int64_t>::min();
  };
  std::map<std::uint32_t, Span> of_member;
  for (const match::Part& part : match::parts_of(matches, operation)) {
    const model::Operation& call = match::operation_of(traces, part);
    const bool is_told =
        call.times_from == model::TimesFrom::kGpu || call.times_from == model::TimesFrom::kProxy;
    if (!is_told || !match::is_finished(call) || !call.start_ns || !call.end_ns) {
      return std::nullopt;
    }
    Span& span = of_member[part.member];
    span.start_ns = std::min(span.start_ns, *call.start_ns);
    span.end_ns = std::max(span.end_ns, *call.end_ns);
  }
  const bool has_root =
      operation.pattern == match::Pattern::kGather || operation.pattern == match::Pattern::kScatter;
  std::optional<std::int64_t> found_ns;
  for (const auto& [member, span] : of_member) {
    std::int64_t duration_ns = 0;
    if (__builtin_sub_overflow(span.end_ns, span.start_ns, &duration_ns) || duration_ns < 0) {
      return std::nullopt;
    }
    found_ns = !found_ns  ? duration_ns
               : has_root ? std::max(*found_ns, duration_ns)
                          : std::min(*found_ns, duration_ns);
  }
  return found_ns;
}

std::optional<std::int64_t> busy_time(const model::Traces& traces, const match::Matches& matches,
                                      const align::Alignment& alignment,
                                      const match::MatchedOperation& operation) {
  const auto timing = timing_of(traces, matches, alignment, operation);
  if (!timing || !timing->has_ends || timing->is_impossible || timing->busy_ns() <= 0) {
    return std::nullopt;
  }
  // Both of its ends may be of any two files: what is uncertain is between any of them.
  const match::Part& last = matches.parts[timing->arrivals.back().part];
  for (const Arrival& arrival : timing->arrivals) {
    const auto uncertainty_ns = alignment.uncertainty_ns(
        last.file, matches.parts[arrival.part].file, timing->last_start_ns());
    if (!uncertainty_ns || *uncertainty_ns > timing->busy_ns() / kClockShare) {
      return std::nullopt;
    }
  }
  return timing->busy_ns();
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

// Of both sides' operations of one size class.
void sum_up_sizes(const TimesOfKind* a, const TimesOfKind* b, Change& change) {
  std::vector<std::uint64_t> sizes_bytes;
  for (const TimesOfKind* const side : {a, b}) {
    if (side != nullptr) {
      for (const SizedTime& one : side->least_of_size) {
        sizes_bytes.push_back(one.bytes);
      }
    }
  }
  std::sort(sizes_bytes.begin(), sizes_bytes.end());
  change.bytes = sizes_bytes[(sizes_bytes.size() - 1) / 2];
  change.bytes_min = sizes_bytes.front();
  change.bytes_max = sizes_bytes.back();
}

// Ascending.
std::vector<double> per_byte(const std::vector<SizedTime>& sized) {
  std::vector<double> times_ns;
  times_ns.reserve(sized.size());
  for (const SizedTime& one : sized) {
    times_ns.push_back(static_cast<double>(one.time_ns) / static_cast<double>(one.bytes));
  }
  std::sort(times_ns.begin(), times_ns.end());
  return times_ns;
}

std::optional<double> median_busbw(const TimesOfKind& times, const std::vector<SizedTime>& sized) {
  std::vector<double> values;
  for (const SizedTime& one : sized) {
    const auto value = bandwidth(times.kind.function, one.bytes, times.is_alone ? 1 : times.ranks,
                                 static_cast<double>(one.time_ns))
                           .busbw_gb_s;
    if (value) {
      values.push_back(*value);
    }
  }
  std::sort(values.begin(), values.end());
  return values.empty() ? std::nullopt : std::optional(median(values));
}

std::optional<double> change_percent(double before, double after) {
  return before > 0 ? std::optional((after / before - 1) * 100) : std::nullopt;
}

// What sizes alone cannot have done.
void compare_sized(const std::vector<SizedTime>& a, const std::vector<SizedTime>& b,
                   Change& change) {
  const std::vector<double> rates_a = per_byte(a);
  const std::vector<double> rates_b = per_byte(b);
  const auto rate_percent = change_percent(median(rates_a), median(rates_b));
  const bool go_apart =
      !change.percent || !rate_percent || (*change.percent < 0) != (*rate_percent < 0);
  if (go_apart) {
    change.percent.reset();
  } else if (std::abs(*rate_percent) < std::abs(*change.percent)) {
    change.percent = rate_percent;
  }
  if (change.chance) {
    change.chance =
        go_apart ? 1 : std::max(*change.chance, mann_whitney_of_rates(rates_a, rates_b));
  }
}

Change change_of(const TimesOfKind* a, const TimesOfKind* b) {
  const TimesOfKind& either = a != nullptr ? *a : *b;
  Change change;
  change.kind = either.kind;
  change.bytes = change.bytes_min = change.bytes_max = either.kind.bytes;
  if (either.kind.is_size_class) {
    sum_up_sizes(a, b, change);
  }
  const auto has_busy = [](const TimesOfKind* times) {
    return times == nullptr || !times->busy_ns.empty();
  };
  change.time_is = has_busy(a) && has_busy(b) ? TimeIs::kBusy : TimeIs::kLeast;
  const auto values = [&](const TimesOfKind& times) -> const std::vector<std::int64_t>& {
    return change.time_is == TimeIs::kBusy ? times.busy_ns : times.least_ns;
  };
  const auto sized = [&](const TimesOfKind& times) -> const std::vector<SizedTime>& {
    return change.time_is == TimeIs::kBusy ? times.busy_of_size : times.least_of_size;
  };
  const auto busbw = [&](const TimesOfKind& times, std::optional<double> time_ns) {
    return times.kind.is_size_class ? median_busbw(times, sized(times)) : busbw_of(times, time_ns);
  };
  if (a != nullptr) {
    change.count_a = values(*a).size();
    change.median_a_ns = median(values(*a));
    change.busbw_a_gb_s = busbw(*a, change.median_a_ns);
  }
  if (b != nullptr) {
    change.count_b = values(*b).size();
    change.median_b_ns = median(values(*b));
    change.busbw_b_gb_s = busbw(*b, change.median_b_ns);
  }
  if (a != nullptr && b != nullptr) {
    change.percent = change_percent(*change.median_a_ns, *change.median_b_ns);
    if (std::min(values(*a).size(), values(*b).size()) >= kLeastToJudge) {
      change.chance = mann_whitney(values(*a), values(*b));
    }
    if (change.kind.is_size_class) {
      compare_sized(sized(*a), sized(*b), change);
    }
  }
  return change;
}

}  // namespace

std::vector<TimesOfKind> times_of_kinds(const model::Traces& traces, const match::Matches& matches,
                                        const align::Alignment& alignment) {
  std::vector<OperationKind> kinds;
  for (const match::Communicator& communicator : matches.communicators) {
    kinds.push_back(kind_of(traces, communicator));
  }
  const auto judgements = match::judge_all(traces, matches);
  std::map<OperationKind, TimesOfKind> collected;
  for (std::size_t i = 0; i < matches.operations.size(); ++i) {
    const match::MatchedOperation& operation = matches.operations[i];
    const auto least_ns = least_duration(traces, matches, operation);
    if (judgements[i].verdict != match::Verdict::kMatched || !least_ns) {
      continue;
    }
    const model::Operation& first =
        match::operation_of(traces, matches.parts[operation.first_part]);
    OperationKind kind = kinds[operation.communicator];
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
    times.is_alone =
        matches.communicators[operation.communicator].identity == match::Identity::kAlone;
    const bool is_size_class = times.kind.is_size_class;
    times.least_ns.push_back(*least_ns);
    if (is_size_class) {
      times.least_of_size.push_back({bytes, *least_ns});
    }
    if (const auto busy_ns = busy_time(traces, matches, alignment, operation)) {
      times.busy_ns.push_back(*busy_ns);
      if (is_size_class) {
        times.busy_of_size.push_back({bytes, *busy_ns});
      }
    }
  }
  std::vector<TimesOfKind> all;
  for (auto& [kind, times] : collected) {
    if (times.busy_ns.size() < times.least_ns.size()) {
      times.busy_ns.clear();
      times.busy_of_size.clear();
    }
    std::sort(times.least_ns.begin(), times.least_ns.end());
    std::sort(times.busy_ns.begin(), times.busy_ns.end());
    all.push_back(std::move(times));
  }
  return all;
}

std::vector<Change> compare(const std::vector<TimesOfKind>& a, const std::vector<TimesOfKind>& b) {
  std::vector<Change> changes;
  for (std::size_t i = 0, j = 0; i < a.size() || j < b.size();) {
    const bool has_a = i < a.size() && (j == b.size() || !(b[j].kind < a[i].kind));
    const bool has_b = j < b.size() && (i == a.size() || !(a[i].kind < b[j].kind));
    changes.push_back(change_of(has_a ? &a[i] : nullptr, has_b ? &b[j] : nullptr));
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
