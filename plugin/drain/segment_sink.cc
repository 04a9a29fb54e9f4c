// SPDX-License-Identifier: Apache-2.0
#include "plugin/drain/segment_sink.h"

namespace ringside::drain {

void SegmentSink::row(const assemble::Row& row, const assemble::Tally& tally) {
  const bool is_written =
      write_event(assemble::context_of(row), tally, [&] { segments_.trace().row(row, tally); });
  if (const auto* const of = std::get_if<assemble::OperationRow>(&row)) {
    if (is_written) {
      segments_.files().count_operation();
    }
    if (!of->operation->in_flight) {
      count(*of);
    }
  }
  note(assemble::row_key(row));
}

void SegmentSink::sampled_out(const assemble::Row& row) {
  if (const auto* const of = std::get_if<assemble::OperationRow>(&row)) {
    count(*of);
  }
  note(assemble::row_key(row));
}

void SegmentSink::communicator(const assemble::Communicator& communicator) {
  segments_.repeated().communicator(communicator);
  if (journal::Journal* const journal = segments_.journal()) {
    journal->note(communicator);
  }
}

void SegmentSink::gpu_clock(std::uint32_t context, const assemble::GpuClockFit& fit) {
  segments_.repeated().gpu_clock(context, fit);
  if (journal::Journal* const journal = segments_.journal()) {
    journal->note_gpu_clock(context, fit);
  }
}

void SegmentSink::count(const assemble::OperationRow& of) {
  try {
    metrics_.add(*of.operation, *of.communicator);
  } catch (const std::bad_alloc&) {
  }
}

void SegmentSink::note(std::uint64_t key) {
  try {
    if (journal::Journal* const journal = segments_.journal()) {
      journal->written(key);
    }
  } catch (const std::bad_alloc&) {
  }
}

}  // namespace ringside::drain
