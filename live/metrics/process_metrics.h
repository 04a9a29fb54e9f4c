// SPDX-License-Identifier: Apache-2.0
//
// The live metrics of a process (docs/live-metrics.md), made of its answer to `live` with `series`
// (docs/dev/control-socket.md). The answer may be anybody's: names are ours, labels and numbers are
// checked, and what is not such an answer gives nothing.
#ifndef RINGSIDE_LIVE_METRICS_PROCESS_METRICS_H
#define RINGSIDE_LIVE_METRICS_PROCESS_METRICS_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include "live/last_events.h"
#include "live/metrics/metrics_page.h"
#include "live/process_status.h"

namespace ringside::live {

class ProcessMetrics {
 public:
  // An answer with more than these is no process's.
  static constexpr std::size_t kMostSeries = 256;  ///< it keeps 200, and one of each function
  static constexpr std::size_t kMostCommunicators = 1000;
  static constexpr std::size_t kMostBounds = 32;  ///< of a histogram

  /// Nothing if the answer is none, or has more than a process's. `owner`: the process's user, as
  /// the kernel says.
  static std::optional<ProcessMetrics> read(const Reply& reply, uid_t owner);

  /// The labels that all samples of this process have: no two processes of a page may have the
  /// same.
  const std::string& labels() const { return labels_; }

  /// `events`: of the scrapes before.
  void add_to(MetricsPage& page, LastEvents& events) const;

 private:
  struct Sums {
    std::uint64_t operations = 0, message_bytes = 0, timed_operations = 0, busy_ns = 0, bus_ns = 0;
    double bus_bytes = 0;
    std::vector<std::uint64_t> durations, busbws;  ///< by bucket
  };
  struct InFlight {
    std::uint64_t operations = 0, bytes = 0;
    std::int64_t oldest_ns = 0;
  };
  struct Reader;

  void add_series(MetricsPage& page) const;
  void add_in_flight(MetricsPage& page) const;
  void add_process(MetricsPage& page) const;

  static constexpr std::array<std::string_view, 5> kReasons = {"memory", "no_ring", "parent",
                                                               "ring_full", "write"};

  std::string labels_, build_labels_;
  // By labels: a communicator that is made again may have the same.
  std::map<std::string, Sums> series_;
  std::map<std::string, InFlight> in_flight_;
  std::vector<double> duration_bounds_s_, busbw_bounds_;
  std::uint64_t produced_ = 0, rotated_ = 0, sampled_out_ = 0, trace_bytes_ = 0, ring_bytes_ = 0;
  std::array<std::uint64_t, kReasons.size()> dropped_{};
  std::int64_t realtime_ns_ = 0, drain_cpu_ns_ = 0;
  bool is_recording_ = false;
};

}  // namespace ringside::live

#endif  // RINGSIDE_LIVE_METRICS_PROCESS_METRICS_H
