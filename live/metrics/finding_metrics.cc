// SPDX-License-Identifier: Apache-2.0
#include "live/metrics/finding_metrics.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace ringside::live {
namespace {

using Kind = WatchFinding::Kind;

std::string of_communicator(const WatchFinding& finding) {
  const std::string name = finding.communicator == finding.comm ? "" : finding.communicator;
  return label("communicator", finding.comm) + ',' + label("name", name) + ',' +
         label("run", finding.job);
}

}  // namespace

void FindingMetrics::look() {
  const auto now = Watcher::Clock::now();
  Chosen chosen = choose(options_.choice, options_.timeout, "live");
  const LiveProcesses processes = live_processes(std::exchange(chosen.replies, {}));
  const std::vector<WatchFinding> found = watcher_.look(chosen, processes, now);
  const std::lock_guard lock(mutex_);
  current_ = watcher_.current();
  ++looks_;
  for (const WatchFinding& finding : found) {
    findings_[finding.kind] += finding.ends ? 0 : 1;
  }
}

void FindingMetrics::add_to(MetricsPage& page) const {
  const std::lock_guard lock(mutex_);
  page.family("ringside_watch_looks", "counter", "Looks at all processes for what is wrong.");
  page.sample({}, static_cast<double>(looks_));
  page.family("ringside_watch_findings", "counter", "What was found, by kind.");
  for (const Kind kind : {Kind::kStuck, Kind::kLate, Kind::kDied, Kind::kSilent}) {
    const auto found = findings_.find(kind);
    page.sample(label("finding", name_of(kind)),
                found == findings_.end() ? 0 : static_cast<double>(found->second));
  }
  page.family("ringside_watch_stuck_ranks", "gauge",
              "Ranks that wait in an operation that is stuck.");
  for (const WatchFinding& finding : current_) {
    if (finding.kind == Kind::kStuck) {
      page.sample(of_communicator(finding) + ',' + label("func", finding.function),
                  static_cast<double>(finding.ranks.size()));
    }
  }
  page.family(
      "ringside_watch_idle_rank", "gauge",
      "1: others are stuck in the communicator, and this rank has nothing in flight there.");
  for (const WatchFinding& finding : current_) {
    for (const std::int64_t rank : finding.idle_ranks) {
      page.sample(of_communicator(finding) + ',' + label("rank", std::to_string(rank)), 1.0);
    }
  }
  page.family("ringside_watch_late_ratio", "gauge",
              "Share of all ranks' time that the others waited at least for the late ranks, in the "
              "last window.");
  for (const WatchFinding& finding : current_) {
    for (const std::int64_t rank :
         finding.kind == Kind::kLate ? finding.ranks : std::vector<std::int64_t>()) {
      constexpr double kPercent = 100;
      page.sample(of_communicator(finding) + ',' + label("rank", std::to_string(rank)),
                  finding.percent_of_time.value_or(0) / kPercent);
    }
  }
  page.family("ringside_watch_silent", "gauge",
              "Processes and hosts that have not answered in two looks, one after the other.");
  page.sample({}, static_cast<double>(std::count_if(
                      current_.begin(), current_.end(),
                      [](const WatchFinding& one) { return one.kind == Kind::kSilent; })));
}

}  // namespace ringside::live
