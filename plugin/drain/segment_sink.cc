// SPDX-License-Identifier: Apache-2.0
#include "plugin/drain/segment_sink.h"

namespace ringside::drain {

void SegmentSink::row(const assemble::Row& row, const assemble::Tally& tally) {
  const bool is_written =
      write_event(assemble::context_of(row), tally, [&] { segments_.trace().row(row, tally); });
  const auto* const of = std::get_if<assemble::OperationRow>(&row);
  if (of == nullptr) {
    return;
  }
  if (is_written) {
    segments_.files().count_operation();
  }
  if (!of->operation->in_flight) {
    count_if_memory([&] { metrics_.add(*of->operation, *of->communicator); });
  }
}

void SegmentSink::sampled_out(const assemble::Row& row) {
  if (const auto* const of = std::get_if<assemble::OperationRow>(&row)) {
    count_if_memory([&] { metrics_.add(*of->operation, *of->communicator); });
  }
}

}  // namespace ringside::drain
