// SPDX-License-Identifier: Apache-2.0
//
// The segments of a trace: what each begins and ends with; and what a dump puts together of them.
#include <cerrno>
#include <utility>

#include "plugin/drain/trace_writer.h"

namespace ringside::control {
namespace {

constexpr std::size_t kMostWindowsRepeated = 100;
// Of the five seconds for which the exit of the process waits (Session::shut_down).
constexpr std::int64_t kCompressAtExit_ns = 2'000'000'000;

std::string step_notice(const assemble::ClockStep& step) {
  const auto ms = [](std::int64_t ns) { return std::to_string(ns / 1'000'000) + " ms"; };
  return "the processor's counter stepped " +
         (step.size_ns < 0 ? "back by " + ms(-step.size_ns) : "ahead by " + ms(step.size_ns)) +
         " against CLOCK_MONOTONIC, as when a virtual machine is suspended or moved: recording "
         "goes "
         "on, and times of the last " +
         ms(step.before_ns - step.after_ns + 999'999) + " may be wrong by as much";
}

}  // namespace

// Also in the journal, before there is such a file: if the process dies, it is known.
exporting::SegmentHeader TraceWriter::make_header(std::uint32_t segment) {
  facts_.segment = segment;
  facts_.segment_start_ns = segment == 1 ? facts_.start_ns : now_ns_;
  exporting::TextSink lines;
  exporting::ChromeTrace trace(lines);
  trace.begin(facts_, false);
  trace.clock(reading_, now_ns_);
  if (segment != 1) {
    repeat_windows(trace);
    segments_.repeat_threads(trace);
  }
  if (journal_) {
    journal_->note_first_line(segment, trace.first_line());
  }
  return {std::move(lines.text), trace.first_line().size()};
}

void TraceWriter::repeat_windows(exporting::ChromeTrace& trace) const {
  const std::size_t windows = windows_.size();
  for (std::size_t i = windows > kMostWindowsRepeated ? windows - kMostWindowsRepeated : 0;
       i < windows; ++i) {
    trace.window(windows_[i], true);
  }
}

// Between two events.
void TraceWriter::make_room() {
  if (file_.has_much()) {
    flush();
  }
  if (file_.is_full(now_ns_)) {
    next_segment();
  }
}

// The next segment's file is there, with its header, before the current one is ended, and that is
// stored before the next one is begun: where there is no room, the current one goes on.
void TraceWriter::next_segment() {
  const std::uint32_t next = file_.number() + 1;
  if (journal_) {
    journal_->note_trace(next, file_.path_of_next());
  }
  if (!file_.prepare_next(make_header(next), now_ns_)) {
    fail(errno);
    return;
  }
  if (!end_segment(next)) {
    file_.discard_next(now_ns_);
    return;
  }
  file_.begin_next(now_ns_);
  segments_.tell_all_again();
  if (journal_) {
    if (const exporting::WriteCounts* closed = file_.last_closed()) {
      journal_->note(assemble::SegmentCountsNote{next - 1, closed->written, closed->merged});
    }
    checkpoint();
  }
  compress_at_exit();
}

// False if it does not end here: any of it was lost.
bool TraceWriter::end_segment(std::uint32_t next) {
  if (!store() || !tell_lost()) {
    return false;
  }
  file_.end_of_body();
  file_.make_room_for_end(false);
  trace_.clock(reading_, now_ns_);
  write_account(trace_, false);
  exporting::TraceEnd end = end_of_trace();
  end.next_segment = next;
  trace_.end(now_ns_, file_.operations(), end);
  return store();
}

void TraceWriter::expect_close() {
  compress_left_ns_ = kCompressAtExit_ns;
}

void TraceWriter::compress_at_exit() {
  if (compress_left_ns_ > 0) {
    const std::uint64_t begin_ns = record::monotonic_ns();
    file_.compress_for(compress_left_ns_);
    compress_left_ns_ -= static_cast<std::int64_t>(record::monotonic_ns() - begin_ns);
  }
}

const assemble::Communicator* TraceWriter::find_communicator(std::uint32_t context) const {
  const auto& known = assembler_.communicators();
  return context != 0 && context < known.size() && known[context].context != 0 ? &known[context]
                                                                               : nullptr;
}

bool TraceWriter::make_snapshot(exporting::TraceSnapshot& made) {
  flush();
  if (file_.is_open() && !file_.hold_kept(made.parts)) {
    return false;
  }
  exporting::ProcessFacts facts = facts_;
  facts.segment = file_.oldest_number();
  facts.segment_start_ns = file_.oldest_start_ns();
  exporting::TextSink text;
  exporting::ChromeTrace trace(text);
  trace.begin(facts, true);
  made.head = std::move(text.text);
  text.text.clear();
  for (const assemble::Communicator& communicator : assembler_.communicators()) {
    if (communicator.context != 0) {
      trace.communicator(communicator);
    }
  }
  if (has_lost_lines_) {
    repeat_windows(trace);
    segments_.repeat_threads(trace);
  }
  trace.clock(reading_, now_ns_);
  const std::uint64_t in_flight = assembler_.write_in_flight(trace, now_ns_);
  write_account(trace, false);
  trace.end(now_ns_, file_.kept_operations() + in_flight, end_of_trace());
  made.tail = std::move(text.text);
  return true;
}

std::string TraceWriter::take_sampling_notice() {
  if (!config_.sampling.is_on()) {
    return {};
  }
  for (const assemble::Communicator& of : assembler_.communicators()) {
    if (of.coll_unsampled && !coll_unsampled_told_) {
      coll_unsampled_told_ = true;
      return "RINGSIDE_SAMPLE: collectives are all kept, since up to its version 2.25 NCCL numbers "
             "them only while they are recorded: ranks might choose different ones";
    }
    if (of.p2p_unsampled && !p2p_unsampled_told_) {
      p2p_unsampled_told_ = true;
      return "RINGSIDE_SAMPLE: of some communicators sends and receives are all kept, since they "
             "were not all recorded from its creation on: its ranks might choose different ones";
    }
  }
  return {};
}

std::string TraceWriter::take_notice() {
  if (step_to_tell_) {
    return step_notice(*std::exchange(step_to_tell_, std::nullopt));
  }
  if (notice_taken_ || (!file_.lacks_zlib() && !file_.is_anonymous())) {
    return {};
  }
  notice_taken_ = true;
  if (file_.lacks_zlib()) {
    return "RINGSIDE_COMPRESS: libz.so.1 cannot be loaded; traces are not compressed";
  }
  return "the flight recorder has no room in " +
         (config_.ring_directory.empty() ? "files, as asked" : config_.ring_directory) +
         ": it goes on in memory that a kill of the process frees";
}

}  // namespace ringside::control
