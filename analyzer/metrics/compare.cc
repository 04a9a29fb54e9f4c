// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/compare.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "analyzer/match/function_mismatch.h"
#include "analyzer/match/group_patterns.h"
#include "analyzer/metrics/bandwidth.h"
#include "analyzer/metrics/percentile.h"
#include "analyzer/metrics/rows.h"
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

Change change_of(const TimesOfKind* a, const TimesOfKind* b) {
  const TimesOfKind& either = a != nullptr ? *a : *b;
  Change change;
  change.kind = either.kind;
  const auto has_busy = [](const TimesOfKind* times) {
    return times == nullptr || !times->busy_ns.empty();
  };
  change.time_is = has_busy(a) && has_busy(b) ? TimeIs::kBusy : TimeIs::kLeast;
  const auto values = [&](const TimesOfKind& times) -> const std::vector<std::int64_t>& {
    return change.time_is == TimeIs::kBusy ? times.busy_ns : times.least_ns;
  };
  if (a != nullptr) {
    change.count_a = values(*a).size();
    change.median_a_ns = median(values(*a));
    change.busbw_a_gb_s = busbw_of(*a, change.median_a_ns);
  }
  if (b != nullptr) {
    change.count_b = values(*b).size();
    change.median_b_ns = median(values(*b));
    change.busbw_b_gb_s = busbw_of(*b, change.median_b_ns);
  }
  if (a != nullptr && b != nullptr) {
    if (*change.median_a_ns > 0) {
      change.percent = (*change.median_b_ns / *change.median_a_ns - 1) * 100;
    }
    if (std::min(values(*a).size(), values(*b).size()) >= kLeastToJudge) {
      change.chance = mann_whitney(values(*a), values(*b));
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
    kind.datatype = traces.names.text(first.datatype);
    TimesOfKind& times = collected[kind];
    times.kind = std::move(kind);
    times.ranks = match::ranks_expected(matches, operation);
    times.is_alone =
        matches.communicators[operation.communicator].identity == match::Identity::kAlone;
    times.least_ns.push_back(*least_ns);
    if (const auto busy_ns = busy_time(traces, matches, alignment, operation)) {
      times.busy_ns.push_back(*busy_ns);
    }
  }
  std::vector<TimesOfKind> all;
  for (auto& [kind, times] : collected) {
    if (times.busy_ns.size() < times.least_ns.size()) {
      times.busy_ns.clear();
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

double mann_whitney(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
  const auto count_a = static_cast<double>(a.size());
  const auto count_b = static_cast<double>(b.size());
  const double count = count_a + count_b;
  double ranks_of_a = 0;
  double ties = 0;
  double below = 0;  // values that are less than those looked at
  for (std::size_t i = 0, j = 0; i < a.size() || j < b.size();) {
    const std::int64_t value = j == b.size() || (i < a.size() && a[i] < b[j]) ? a[i] : b[j];
    const std::size_t first_i = i;
    const std::size_t first_j = j;
    while (i < a.size() && a[i] == value) {
      ++i;
    }
    while (j < b.size() && b[j] == value) {
      ++j;
    }
    const auto equal = static_cast<double>(i - first_i + j - first_j);
    ranks_of_a += static_cast<double>(i - first_i) * (below + (equal + 1) / 2);
    ties += equal * equal * equal - equal;
    below += equal;
  }
  const double u = ranks_of_a - count_a * (count_a + 1) / 2;
  const double variance = count_a * count_b / 12 * (count + 1 - ties / (count * (count - 1)));
  if (!(variance > 0)) {
    return 1;
  }
  const double distance = std::max(0.0, std::abs(u - count_a * count_b / 2) - 0.5);
  return std::erfc(distance / std::sqrt(2 * variance));
}

std::vector<double> holm(const std::vector<double>& probabilities) {
  std::vector<std::size_t> order(probabilities.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t first, std::size_t second) {
    return probabilities[first] < probabilities[second];
  });
  std::vector<double> corrected(probabilities.size());
  double least = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const double raised = probabilities[order[i]] * static_cast<double>(order.size() - i);
    least = std::max(least, std::min(1.0, raised));
    corrected[order[i]] = least;
  }
  return corrected;
}

}  // namespace ringside::metrics
