// SPDX-License-Identifier: Apache-2.0
//
// Hands finished rows to the sink, and counts those that sampling keeps out of the trace.
#ifndef RINGSIDE_PLUGIN_ASSEMBLE_ROW_WRITER_H
#define RINGSIDE_PLUGIN_ASSEMBLE_ROW_WRITER_H

#include <cstddef>

#include "plugin/assemble/account.h"
#include "plugin/assemble/rows.h"
#include "plugin/assemble/sink.h"

namespace ringside::assemble {

class RowWriter {
 public:
  /// The callbacks of the rows that sampling keeps out are added to `sampled_out`.
  RowWriter(Sink& sink, TypeCounts& sampled_out) : sink_(sink), sampled_out_(sampled_out) {}

  void write(const Row& row, const Tally& tally, bool is_sampled_out = false) {
    if (is_sampled_out) {
      sampled_out_[static_cast<std::size_t>(tally.type)] += tally.starts + tally.joined;
      sink_.sampled_out(row);
    } else {
      sink_.row(row, tally);
    }
  }

 private:
  Sink& sink_;
  TypeCounts& sampled_out_;
};

}  // namespace ringside::assemble

#endif  // RINGSIDE_PLUGIN_ASSEMBLE_ROW_WRITER_H
