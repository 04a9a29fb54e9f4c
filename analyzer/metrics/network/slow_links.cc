// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/network/slow_links.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <span>

#include "analyzer/metrics/percentile.h"
#include "analyzer/metrics/significance.h"
#include "analyzer/model/saturating.h"

namespace ringside::metrics {
namespace {

// The proxy thread sees several steps complete at one look, so the rate of one step means little.
constexpr std::size_t kStepsOfRun = 8;
// Siblings that agree by chance make no small difference significant: this much is always granted.
constexpr double kLeastSpread = 0.02;
// A kind falls into two classes only where the gap between them is so many deviations of both.
constexpr double kGapDeviations = 3;
constexpr double kStrayDeviations = 6;
constexpr std::size_t kLeastRanksOfClass = 3;
// From so many others on the median deviation is steadier than the standard deviation.
constexpr std::size_t kManyOthers = 8;

double median_deviation(const std::vector<double>& values, double center) {
  std::vector<double> distances;
  distances.reserve(values.size());
  for (const double value : values) {
    distances.push_back(std::abs(value - center));
  }
  // 1.4826 makes it the standard deviation of a normal distribution.
  return 1.4826 * *median_of(std::move(distances));
}

double standard_deviation(const std::vector<double>& values) {
  double mean = 0;
  for (const double value : values) {
    mean += value / static_cast<double>(values.size());
  }
  double sum = 0;
  for (const double value : values) {
    sum += (value - mean) * (value - mean);
  }
  return values.size() < 2 ? 0 : std::sqrt(sum / static_cast<double>(values.size() - 1));
}

std::vector<double> logs_of(std::span<const RatedLink* const> links) {
  std::vector<double> logs;
  logs.reserve(links.size());
  for (const RatedLink* const link : links) {
    logs.push_back(std::log(link->gb_s));
  }
  return logs;
}

// A class has several ranks at both ends. Else one rank alone makes the difference, perhaps by a
// fault.
bool can_be_class(std::span<const RatedLink* const> links) {
  std::set<std::uint32_t> senders;
  std::set<std::uint32_t> receivers;
  std::set<std::pair<std::uint32_t, std::uint32_t>> pairs;
  for (const RatedLink* const link : links) {
    senders.insert(link->sender);
    receivers.insert(link->receiver);
    pairs.emplace(link->sender, link->receiver);
  }
  return pairs.size() >= kLeastSiblings && senders.size() >= kLeastRanksOfClass &&
         receivers.size() >= kLeastRanksOfClass;
}

using Links = std::span<const RatedLink* const>;
using Class = std::vector<const RatedLink*>;

struct Center {
  double log_gb_s = 0;
  double deviation = 0;
};

Center center_of(Links links) {
  const auto logs = logs_of(links);
  const double middle = *median_of(logs);
  return {middle, std::max(median_deviation(logs, middle), kLeastSpread)};
}

// How many of the fastest links of a slow class are none of it: far above all others, and of one or
// two ranks only. They are slow links of the faster class, which happen to lie between both.
std::size_t strays(Links slow) {
  const Center center = center_of(slow);
  const double least =
      center.log_gb_s + std::max(std::log(kSlowFactor), kStrayDeviations * center.deviation);
  std::size_t count = 0;
  while (count < slow.size() && std::log(slow[count]->gb_s) > least) {
    ++count;
  }
  std::set<std::uint32_t> senders;
  for (const RatedLink* const link : slow.first(count)) {
    senders.insert(link->sender);
  }
  return senders.size() < kLeastRanksOfClass ? count : 0;
}

// The links are sorted, the fastest first. They are split at the widest gap that can lie between
// two classes.
void split(Links links, std::vector<Class>& classes) {
  std::size_t best = 0;
  double widest = 0;
  for (std::size_t i = 1; i < links.size(); ++i) {
    const double gap = std::log(links[i - 1]->gb_s / links[i]->gb_s);
    if (gap > widest && can_be_class(links.first(i)) && can_be_class(links.subspan(i))) {
      best = i;
      widest = gap;
    }
  }
  if (best > 0) {
    const Center fast = center_of(links.first(best));
    const Center slow = center_of(links.subspan(best));
    if (fast.log_gb_s - slow.log_gb_s >= std::log(kSlowFactor) &&
        widest >= kGapDeviations * std::max(fast.deviation, slow.deviation)) {
      best += strays(links.subspan(best));
      split(links.first(best), classes);
      split(links.subspan(best), classes);
      return;
    }
  }
  classes.emplace_back(links.begin(), links.end());
}

// How much slower a link is than those of other senders; nothing where there are too few of these.
std::optional<Slow> compare(const RatedLink& link, const Class& links) {
  std::vector<double> others;
  std::set<std::pair<std::uint32_t, std::uint32_t>> pairs;
  for (const RatedLink* const other : links) {
    // A slow rank slows all that it sends.
    if (other->sender != link.sender) {
      others.push_back(std::log(other->gb_s));
      pairs.emplace(other->sender, other->receiver);
    }
  }
  if (pairs.size() + 1 < kLeastSiblings) {
    return std::nullopt;
  }
  const bool has_many = pairs.size() >= kManyOthers;
  const double center = *median_of(others);
  const double spread = std::max(
      has_many ? median_deviation(others, center) : standard_deviation(others), kLeastSpread);
  // Channels of one pair share what slows them, so pairs count. A median deviation knows less.
  const auto count = static_cast<double>(pairs.size());
  const double freedom = has_many ? count / 2 : count - 1;
  const double below = center - std::log(link.gb_s);
  const double error =
      std::sqrt(spread * spread * (1 + 1 / count) + link.relative_error * link.relative_error);
  Slow slow;
  slow.steps = link.steps;
  slow.own_gb_s = link.gb_s;
  slow.usual_gb_s = std::exp(center);
  slow.factor = std::exp(below);
  slow.chance = below > 0 ? student_upper_tail(below / error, freedom) : 1;
  return slow;
}

LinkClass describe(const Class& links) {
  LinkClass found;
  found.kind = links.front()->kind;
  found.links = static_cast<std::uint32_t>(links.size());
  std::set<std::pair<std::uint32_t, std::uint32_t>> pairs;
  for (const RatedLink* const link : links) {
    pairs.emplace(link->sender, link->receiver);
  }
  found.pairs = static_cast<std::uint32_t>(pairs.size());
  const auto logs = logs_of(links);
  const double middle = *median_of(logs);
  found.usual_gb_s = std::exp(middle);
  found.spread_percent = 100 * median_deviation(logs, middle);
  return found;
}

}  // namespace

std::vector<RatedLink> rate_link(const std::vector<Moved>& steps, SeenBy seen_by) {
  struct Span {
    std::int64_t end_ns;
    std::int64_t start_ns;
    std::uint64_t bytes;
  };
  std::vector<Span> spans;
  spans.reserve(steps.size());
  for (const Moved& step : steps) {
    if (seen_by == SeenBy::kSender || step.arrived_ns) {
      spans.push_back(
          {seen_by == SeenBy::kSender ? step.sent_ns : step.end_ns(), step.start_ns, step.bytes});
    }
  }
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) {
    return std::pair(a.end_ns, a.start_ns) < std::pair(b.end_ns, b.start_ns);
  });
  struct Run {
    std::size_t steps = 0;
    double bytes = 0;
    double time_ns = 0;
    std::vector<double> logs;
  };
  std::map<int, Run> of_size;
  std::map<int, std::uint64_t> counts;
  std::int64_t until_ns = std::numeric_limits<std::int64_t>::min();
  for (const Span& span : spans) {
    // The time that this step adds to that in which the link was busy.
    const std::int64_t added_ns = std::max<std::int64_t>(
        subtract_saturating(span.end_ns, std::max(span.start_ns, until_ns)), 0);
    until_ns = std::max(until_ns, span.end_ns);
    if (span.bytes == 0) {
      continue;
    }
    const int size = static_cast<int>(std::bit_width(span.bytes)) - 1;
    Run& run = of_size[size];
    ++counts[size];
    run.bytes += static_cast<double>(span.bytes);
    run.time_ns += static_cast<double>(added_ns);
    if (++run.steps == kStepsOfRun) {
      if (run.time_ns > 0) {
        run.logs.push_back(std::log(run.bytes / run.time_ns));
      }
      run = {0, 0, 0, std::move(run.logs)};
    }
  }
  std::vector<RatedLink> rated;
  for (const auto& [size, run] : of_size) {
    if (counts[size] < kLeastSteps || run.logs.size() < 2) {
      continue;
    }
    RatedLink link;
    link.kind.step_bytes = std::uint64_t{1} << size;
    link.kind.seen_by = seen_by;
    link.steps = counts[size];
    link.gb_s = std::exp(*median_of(run.logs));
    // A median's standard error is 1.2533 times that of a mean.
    link.relative_error =
        1.2533 * standard_deviation(run.logs) / std::sqrt(static_cast<double>(run.logs.size()));
    rated.push_back(link);
  }
  return rated;
}

JudgedLinks judge_links(std::vector<RatedLink> links) {
  std::stable_sort(links.begin(), links.end(), [](const RatedLink& a, const RatedLink& b) {
    return a.kind != b.kind ? a.kind < b.kind : a.gb_s > b.gb_s;
  });
  JudgedLinks judged;
  std::vector<SlowLink> compared;
  std::set<std::size_t> judged_links;
  for (std::size_t first = 0; first < links.size();) {
    Class of_kind;
    for (std::size_t i = first; i < links.size() && links[i].kind == links[first].kind; ++i) {
      of_kind.push_back(&links[i]);
    }
    first += of_kind.size();
    std::vector<Class> classes;
    split(of_kind, classes);
    for (std::size_t part = 0; part < classes.size(); ++part) {
      LinkClass& found = judged.classes.emplace_back(describe(classes[part]));
      found.part = static_cast<std::uint32_t>(part);
      found.parts = static_cast<std::uint32_t>(classes.size());
      for (const RatedLink* const link : classes[part]) {
        if (auto slow = compare(*link, classes[part])) {
          found.is_judged = true;
          slow->link_class = judged.classes.size() - 1;
          compared.push_back({link->link, *slow});
          judged_links.insert(link->link);
        }
      }
    }
  }
  judged.judged = judged_links.size();
  std::map<std::size_t, Slow> slow_of_link;
  for (SlowLink& one : compared) {
    one.slow.chance = std::min(1.0, one.slow.chance * static_cast<double>(compared.size()));
    if (one.slow.factor < kSlowFactor || one.slow.chance >= kSlowChance) {
      continue;
    }
    // Of several sizes of steps, the one that moved the most bytes counts.
    const auto bytes = [&](const Slow& slow) {
      return slow.steps * judged.classes[slow.link_class].kind.step_bytes;
    };
    const auto [at, is_new] = slow_of_link.try_emplace(one.link, one.slow);
    if (!is_new && bytes(one.slow) > bytes(at->second)) {
      at->second = one.slow;
    }
  }
  for (const auto& [link, slow] : slow_of_link) {
    judged.slow.push_back({link, slow});
  }
  return judged;
}

}  // namespace ringside::metrics
