// SPDX-License-Identifier: Apache-2.0
//
// The findings of `ringside watch` as metrics: a thread looks again and again.
#ifndef RINGSIDE_LIVE_METRICS_FINDING_METRICS_H
#define RINGSIDE_LIVE_METRICS_FINDING_METRICS_H

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <thread>
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
    std::chrono::milliseconds timeout{5000};   ///< for the answers of the processes of a host
    std::chrono::milliseconds interval{5000};  ///< from one look to the next
  };

  /// Begins to look.
  explicit FindingMetrics(Options options);
  FindingMetrics(const FindingMetrics&) = delete;
  FindingMetrics& operator=(const FindingMetrics&) = delete;
  /// Waits for a look that is under way.
  ~FindingMetrics();

  /// Adds what is wrong as of the last look. Several threads may call it.
  void add_to(MetricsPage& page) const;

 private:
  void watch();

  const Options options_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<WatchFinding> current_;
  std::map<WatchFinding::Kind, std::uint64_t> findings_;  ///< since the begin
  std::uint64_t looks_ = 0;
  bool is_over_ = false;
  std::thread thread_;  ///< the last member: it uses the others
};

}  // namespace ringside::live

#endif  // RINGSIDE_LIVE_METRICS_FINDING_METRICS_H
