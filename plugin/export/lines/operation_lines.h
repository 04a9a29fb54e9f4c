// SPDX-License-Identifier: Apache-2.0
//
// The lines of operations, and of the API calls and enqueues on the application's threads
// (docs/trace-format.md).
#ifndef RINGSIDE_PLUGIN_EXPORT_LINES_OPERATION_LINES_H
#define RINGSIDE_PLUGIN_EXPORT_LINES_OPERATION_LINES_H

#include <string>

#include "plugin/assemble/rows.h"
#include "plugin/export/lines/line_writer.h"
#include "plugin/export/lines/row_names.h"

namespace ringside::exporting {

class OperationLines {
 public:
  OperationLines(LineWriter& lines, RowNames& names) : lines_(lines), names_(names) {}

  void write(const assemble::Operation& operation, const assemble::Communicator& communicator,
             const assemble::Tally& tally);
  void write(const assemble::Call& call, const assemble::Tally& tally);

 private:
  LineWriter& lines_;
  RowNames& names_;
  std::string name_;
};

}  // namespace ringside::exporting

#endif  // RINGSIDE_PLUGIN_EXPORT_LINES_OPERATION_LINES_H
