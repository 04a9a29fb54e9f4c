// SPDX-License-Identifier: Apache-2.0
#include "plugin/drain/trace_journal.h"

#include <algorithm>

#include "plugin/export/lines/chrome_trace.h"

namespace ringside::drain {

void TraceJournal::begin(void* memory, std::size_t bytes, const exporting::ProcessFacts& facts) {
  journal_.emplace(memory, bytes, static_cast<std::uint32_t>(facts.pid), facts.run_id);
  facts_ = facts;
}

void TraceJournal::announce(const assemble::Communicator& communicator,
                            const config::NcclFacts& nccl, std::uint32_t window,
                            std::uint32_t types) {
  if (!journal_) {
    return;
  }
  assemble::Communicator noted = communicator;
  noted.created_ns = clock_.model().ns_of_monotonic(record::monotonic_ns());
  if (communicator.context == 1) {
    note_begin(nccl, window, types, noted.created_ns);
  }
  journal_->note(noted);
}

void TraceJournal::note_begin(const config::NcclFacts& nccl, std::uint32_t window,
                              std::uint32_t types, std::int64_t now_ns) {
  exporting::TextSink lines;
  exporting::ChromeTrace trace(lines);
  facts_.segment = 1;
  facts_.segment_start_ns = facts_.start_ns;
  facts_.nccl_version = nccl.version;
  facts_.abi_version = nccl.abi_version;
  facts_.events = config::event_names(types);
  trace.begin(facts_, false);
  journal_->note_first_line(trace.first_line());
  if (types != 0) {
    journal_->note_window(window, types, now_ns);
  }
}

void TraceJournal::checkpoint() {
  if (!journal_) {
    return;
  }
  journal::Checkpoint made{};
  // Before there is a file, all lines belong to the first segment.
  made.segment = std::max<std::uint64_t>(files_.number(), 1);
  made.oldest_segment = files_.oldest_number();
  made.trace_bytes = files_.body_bytes();
  made.operations = files_.operations();
  made.next_operation = assembler_.next_operation();
  const assemble::ClockModel::Line line = clock_.model().line();
  made.clock_ticks = line.ticks;
  made.clock_ns = line.ns;
  account_.count(made);
  journal_->checkpoint(made, [this](std::span<assemble::Question> asked) { answer(asked); });
}

void TraceJournal::make_room() {
  if (journal_) {
    journal_->make_room([this](std::span<assemble::Question> asked) { answer(asked); });
  }
}

}  // namespace ringside::drain
