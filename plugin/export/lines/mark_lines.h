// SPDX-License-Identifier: Apache-2.0
//
// The lines of marks, and of the ranges of the application's threads.
#ifndef RINGSIDE_PLUGIN_EXPORT_LINES_MARK_LINES_H
#define RINGSIDE_PLUGIN_EXPORT_LINES_MARK_LINES_H

#include <cstdint>
#include <string_view>

#include "plugin/assemble/rows.h"
#include "plugin/export/lines/line_writer.h"

namespace ringside::exporting {

class MarkLines {
 public:
  explicit MarkLines(LineWriter& lines) : lines_(lines) {}

  void write(const assemble::Mark& mark, const assemble::Tally& tally);
  /// Writes what is known of a mark or a range, as write() does, too.
  void describe(const assemble::Mark& mark);
  /// Writes a mark that the plugin itself sets, for the whole process.
  void write_of_process(std::int64_t ts_ns, std::string_view text);

 private:
  void write_instant(const assemble::Mark& mark, const assemble::Tally& tally);
  void write_range(const assemble::Mark& mark, const assemble::Tally& tally);

  LineWriter& lines_;
};

}  // namespace ringside::exporting

#endif  // RINGSIDE_PLUGIN_EXPORT_LINES_MARK_LINES_H
