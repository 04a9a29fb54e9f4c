// SPDX-License-Identifier: Apache-2.0
//
// The findings of `ringside watch` as metrics.
#ifndef RINGSIDE_LIVE_METRICS_FINDING_METRICS_H
#define RINGSIDE_LIVE_METRICS_FINDING_METRICS_H

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "live/choose.h"
#include "live/metrics/metrics_page.h"
#include "live/watch/watcher.h"

namespace ringside::live {

class FindingMetrics {
 public:
  struct Options {
    Choice choice;
    Watcher::Options limits;
    std::chrono::milliseconds timeout{5000};  ///< for the answers of the processes of a host
  };

  explicit FindingMetrics(Options options)
      : options_(std::move(options)), watcher_(options_.limits) {}

  /// Looks at all processes once more, and takes what that takes.
  void look();

  /// Adds what is wrong as of the last look. Several threads may call it.
  void add_to(MetricsPage& page) const;

 private:
  const Options options_;
  Watcher watcher_;  ///< of look()
  mutable std::mutex mutex_;
  std::vector<WatchFinding> current_;
  std::map<WatchFinding::Kind, std::uint64_t> findings_;  ///< since the begin
  std::uint64_t looks_ = 0;
};

}  // namespace ringside::live

#endif  // RINGSIDE_LIVE_METRICS_FINDING_METRICS_H
