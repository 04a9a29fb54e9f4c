// SPDX-License-Identifier: Apache-2.0
//
// The lines of all rows but marks: operations, the API calls and enqueues on the application's
// threads, proxy operations, steps and kernel channels, and events that belong to no operation
// (docs/trace-format.md).
#ifndef RINGSIDE_PLUGIN_EXPORT_LINES_ROW_LINES_H
#define RINGSIDE_PLUGIN_EXPORT_LINES_ROW_LINES_H

#include <string>
#include <string_view>

#include "plugin/assemble/rows.h"
#include "plugin/export/lines/line_writer.h"
#include "plugin/export/lines/row_names.h"

namespace ringside::exporting {

class RowLines {
 public:
  RowLines(LineWriter& lines, RowNames& names) : lines_(lines), names_(names) {}

  void write(const assemble::OperationRow& row, const assemble::Tally& tally);
  void write(const assemble::Call& call, const assemble::Tally& tally);
  void write(const assemble::ProxyOpRow& row, const assemble::Tally& tally);
  void write(const assemble::StepRow& row, const assemble::Tally& tally);
  void write(const assemble::KernelRow& row, const assemble::Tally& tally);
  void write(const assemble::ControlRow& row, const assemble::Tally& tally);
  void write(const assemble::NetRow& row, const assemble::Tally& tally);
  void write(const assemble::CopyEngineRow& row, const assemble::Tally& tally);

 private:
  /// Begins the line that starts a row, up to the members that all rows have.
  JsonText& begin(std::string_view category, std::string_view name, const assemble::ChildRow& row);
  /// Ends that line. Adds the line that ends the row, unless the row is in flight.
  void end(std::string_view category, std::string_view name, const assemble::ChildRow& row,
           const assemble::Tally& tally);

  LineWriter& lines_;
  RowNames& names_;
  std::string name_;  // of a call
};

}  // namespace ringside::exporting

#endif  // RINGSIDE_PLUGIN_EXPORT_LINES_ROW_LINES_H
