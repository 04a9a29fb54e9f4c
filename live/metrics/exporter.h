// SPDX-License-Identifier: Apache-2.0
//
// The metrics of all processes of a host, from their control sockets, on one page.
#ifndef RINGSIDE_ANALYZER_LIVE_EXPORTER_H
#define RINGSIDE_ANALYZER_LIVE_EXPORTER_H

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "live/exchange.h"
#include "live/last_events.h"
#include "live/metrics/finding_metrics.h"
#include "live/metrics/metrics_page.h"
#include "live/process_status.h"
#include "live/request.h"

namespace ringside::live {

class Exporter {
 public:
  struct Options {
    std::vector<std::string> parents;  ///< directories in which the processes have their sockets
    std::chrono::milliseconds timeout{2000};   ///< for the answers of all processes together
    bool all_users = false;                    ///< else those of this user
    const FindingMetrics* findings = nullptr;  ///< added to each scrape; must outlive this
  };

  explicit Exporter(Options options) : options_(std::move(options)) {}

  /// Asks all processes at once. Several threads may scrape at the same time. `resource`: as
  /// MetricsPage has it.
  std::string scrape(MetricsForm form, std::string_view resource = {});

  /// Returns the answer of each process to a request for its status, or why there is none.
  std::vector<Reply> statuses() const;

 private:
  using Counts = std::map<std::string_view, std::uint64_t>;  ///< by state, or by reason

  std::vector<Exchange> ask(const Request& request, Counts& states) const;
  void add_own(const Counts& states, double seconds, MetricsPage& page);

  const Options options_;
  std::mutex mutex_;  ///< for errors_
  Counts errors_ = {{"timeout", 0}, {"refused", 0}, {"trouble", 0}, {"double", 0}};
  LastEvents events_;
};

}  // namespace ringside::live

#endif  // RINGSIDE_ANALYZER_LIVE_EXPORTER_H
