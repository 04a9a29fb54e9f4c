// SPDX-License-Identifier: Apache-2.0
//
// The counters of a communicator: its bandwidth, and its bytes in flight.
#ifndef RINGSIDE_PLUGIN_EXPORT_BANDWIDTH_COUNTERS_H
#define RINGSIDE_PLUGIN_EXPORT_BANDWIDTH_COUNTERS_H

#include <cstdint>
#include <functional>
#include <queue>
#include <set>
#include <string>
#include <vector>

#include "plugin/assemble/rows.h"
#include "plugin/export/line_writer.h"
#include "plugin/export/row_names.h"

namespace ringside::exporting {

class BandwidthCounters {
 public:
  BandwidthCounters(LineWriter& lines, RowNames& names) : lines_(lines), names_(names) {}

  /// Call this when a communicator was opened or closed.
  void communicator(const assemble::Communicator& communicator);
  /// Adds a completed operation. An operation without execution times changes nothing.
  void add(const assemble::Operation& operation, const assemble::Communicator& communicator);
  /// Writes the counters up to this time. All operations enqueued before it must have been added.
  void complete_until(std::int64_t ts_ns);

 private:
  struct Change {
    std::int64_t ts_ns;
    std::int64_t bytes;
    bool operator>(const Change& other) const { return ts_ns > other.ts_ns; }
  };
  struct Counters {
    std::int64_t last_busbw_end_ns = 0;
    std::uint64_t bytes_in_flight = 0;
    bool is_closed = false;
    /// The changes of bytes in flight that are not written yet, the earliest on top.
    std::priority_queue<Change, std::vector<Change>, std::greater<>> changes;
  };
  Counters& counters(std::uint32_t context);
  void write_changes(std::uint32_t context, std::int64_t until_ns);

  LineWriter& lines_;
  RowNames& names_;
  std::vector<Counters> counters_;    ///< by context
  std::set<std::uint32_t> changing_;  ///< contexts with changes of bytes in flight
  std::string name_;
};

}  // namespace ringside::exporting

#endif  // RINGSIDE_PLUGIN_EXPORT_BANDWIDTH_COUNTERS_H
