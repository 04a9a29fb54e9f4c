// SPDX-License-Identifier: Apache-2.0
//
// RINGSIDE_MARKERS_PRINT: one line of JSON on standard output for each operation, from one rank
// (docs/markers.md). The drain thread uses it and must not wait for whoever reads: a line that
// finds no room is left out and counted.
#ifndef RINGSIDE_PLUGIN_DOORS_OPERATION_PRINTER_H
#define RINGSIDE_PLUGIN_DOORS_OPERATION_PRINTER_H

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "plugin/assemble/rows.h"
#include "plugin/config/config.h"
#include "plugin/export/json_text.h"

namespace ringside::control {

class OperationPrinter {
 public:
  /// Writes to a copy of `descriptor`, because the application may close its own. `base_time_s` is
  /// the base of the trace.
  OperationPrinter(int descriptor, const Config& config, std::string host,
                   std::int64_t base_time_s);
  OperationPrinter(const OperationPrinter&) = delete;
  OperationPrinter& operator=(const OperationPrinter&) = delete;
  ~OperationPrinter();

  void add(const assemble::Operation& operation, const assemble::Communicator& communicator);

  /// Number of lines that found no room, or no reader. Any thread.
  std::uint64_t lost() const { return lost_.load(std::memory_order_relaxed); }

 private:
  bool is_wanted(const assemble::Operation& operation,
                 const assemble::Communicator& communicator) const;
  void make_line(const assemble::Operation& operation, const assemble::Communicator& communicator);
  bool write_line(std::string_view line);

  const Config& config_;
  const std::string host_;
  const std::int64_t base_realtime_ns_;
  int descriptor_;
  bool is_torn_ = false;  ///< the last line has no end
  exporting::JsonText line_;
  std::atomic<std::uint64_t> lost_{0};
};

}  // namespace ringside::control

#endif  // RINGSIDE_PLUGIN_DOORS_OPERATION_PRINTER_H
