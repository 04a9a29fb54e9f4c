// SPDX-License-Identifier: Apache-2.0
//
// The interface that takes the lines of a trace. It is a file, or memory for a benchmark of the
// making of lines.
#ifndef RINGSIDE_PLUGIN_EXPORT_LINES_LINE_SINK_H
#define RINGSIDE_PLUGIN_EXPORT_LINES_LINE_SINK_H

#include <string>
#include <string_view>

#include "plugin/assemble/rows.h"

namespace ringside::exporting {

class LineSink {
 public:
  /// Adds a line with its newline, and the callbacks that it stands for.
  virtual void add(std::string_view line, const assemble::Tally& tally) = 0;

 protected:
  LineSink() = default;
  LineSink(const LineSink&) = default;
  LineSink& operator=(const LineSink&) = default;
  ~LineSink() = default;
};

struct TextSink final : LineSink {
  std::string text;
  void add(std::string_view line, const assemble::Tally&) override { text.append(line); }
};

}  // namespace ringside::exporting

#endif  // RINGSIDE_PLUGIN_EXPORT_LINES_LINE_SINK_H
