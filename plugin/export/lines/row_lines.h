// SPDX-License-Identifier: Apache-2.0
//
// The lines of an operation's proxy operations, steps and kernel channels, and of events that
// belong to no operation.
#ifndef RINGSIDE_PLUGIN_EXPORT_LINES_ROW_LINES_H
#define RINGSIDE_PLUGIN_EXPORT_LINES_ROW_LINES_H

#include <string_view>

#include "plugin/assemble/rows.h"
#include "plugin/export/lines/line_writer.h"
#include "plugin/export/lines/row_names.h"

namespace ringside::exporting {

class RowLines {
 public:
  RowLines(LineWriter& lines, RowNames& names) : lines_(lines), names_(names) {}

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
};

}  // namespace ringside::exporting

#endif  // RINGSIDE_PLUGIN_EXPORT_LINES_ROW_LINES_H
