// SPDX-License-Identifier: Apache-2.0
//
// The hang watch (RINGSIDE_HANG_SECONDS): which operations are reported as stalled, and in what
// words. The drain thread alone uses it. It looks at what the plugin has recorded, and asks nothing
// of NCCL or the application.
#ifndef RINGSIDE_PLUGIN_DOORS_HANG_WATCH_H
#define RINGSIDE_PLUGIN_DOORS_HANG_WATCH_H

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "plugin/assemble/operations/in_flight.h"

namespace ringside::doors {

class HangWatch {
 public:
  /// The most dumps that a process writes by itself. Each has up to RINGSIDE_MAX_BYTES of the
  /// trace.
  static constexpr int kMostDumps = 4;

  /// With a limit of 0, the watch is off.
  explicit HangWatch(double limit_s) : limit_ns_(static_cast<std::int64_t>(limit_s * 1e9)) {}

  std::int64_t limit_ns() const { return limit_ns_; }

  /// Whether to look now: once a second at most, never if off. True counts as a look.
  bool is_due(std::int64_t now_ns);

  /// Returns the operations over the limit that are not reported yet. A communicator's stall is
  /// reported once: not again until another of its operations stalls.
  std::vector<assemble::InFlight> take_unreported(std::vector<assemble::InFlight> over_limit);

 private:
  std::int64_t limit_ns_;
  std::int64_t next_look_ns_ = 0;
  std::map<std::uint32_t, std::uint64_t> reported_;  ///< by context: operation number
};

struct HangFacts {
  double limit_s;
  std::int64_t now_ns;
  std::uint64_t dropped;  ///< records
  std::string dump_path;  ///< empty: none is written
};

/// One line without control characters. `communicator` may be NULL.
std::string hang_line(const assemble::InFlight& stuck, const assemble::Communicator* communicator,
                      const HangFacts& facts);

}  // namespace ringside::doors

#endif  // RINGSIDE_PLUGIN_DOORS_HANG_WATCH_H
