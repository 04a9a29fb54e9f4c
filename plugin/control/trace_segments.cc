// SPDX-License-Identifier: Apache-2.0
//
// The segments of a trace: what each begins and ends with; and dumps, which put them together.
#include <cerrno>
#include <unistd.h>

#include "plugin/control/trace_writer.h"

namespace ringside::control {
namespace {

constexpr std::size_t kMostWindowsRepeated = 100;
// Of the five seconds for which the exit of the process waits (Session::shut_down).
constexpr std::int64_t kCompressAtExit_ns = 2'000'000'000;

}  // namespace

void TraceWriter::begin_segment() {
  facts_.segment = file_.number();
  facts_.segment_start_ns = facts_.segment == 1 ? facts_.start_ns : now_ns_;
  trace_.begin(facts_, false);
  file_.set_first_line_bytes(trace_.first_line().size());
  if (journal_) {
    journal_->note_trace(file_.number(), file_.path());
    journal_->note_first_line(file_.number(), trace_.first_line());
  }
  trace_.clock(reading_, now_ns_);
}

void TraceWriter::next_segment() {
  if (journal_) {
    journal_->note_trace(file_.number() + 1, file_.path_of_next());
  }
  if (!file_.prepare_next()) {
    fail(errno);
    return;
  }
  file_.end_of_body();
  file_.make_room_for_end(false);
  trace_.clock(reading_, now_ns_);
  write_account(trace_, false);
  exporting::TraceEnd end = end_of_trace();
  end.next_segment = file_.number() + 1;
  trace_.end(now_ns_, file_.operations(), end);
  flush();
  file_.begin_next(now_ns_);
  if (const exporting::WriteCounts* closed = file_.last_closed(); closed && journal_) {
    journal_->note(
        assemble::SegmentCountsNote{file_.number() - 1, closed->written, closed->merged});
  }
  begin_segment();
  const std::size_t windows = windows_.size();
  for (std::size_t i = windows > kMostWindowsRepeated ? windows - kMostWindowsRepeated : 0;
       i < windows; ++i) {
    trace_.window(windows_[i], true);
  }
  segments_.repeat();
  file_.end_of_header();
  if (journal_) {
    checkpoint();
  }
  compress_at_exit();
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

int TraceWriter::dump(const std::string& path) {
  exporting::TraceFile file;
  const auto give_up = [&path](int error) {
    unlink(path.c_str());  // what is not whole would be taken for a dump
    return error;
  };
  // Before the first communicator, and with a flight recorder, nothing has made it yet.
  const bool ready = !path.starts_with(directory_ + "/") || exporting::make_directories(directory_);
  if (!ready || !file.create(path)) {
    return errno;
  }
  flush();
  exporting::ChromeTrace trace(file);
  exporting::ProcessFacts facts = facts_;
  facts.segment = file_.oldest_number();
  facts.segment_start_ns = file_.oldest_start_ns();
  trace.begin(facts, true);
  if (file_.is_open() && !file_.copy_kept(file)) {
    return give_up(errno);
  }
  for (const assemble::Communicator& communicator : assembler_.communicators()) {
    if (communicator.context != 0) {
      trace.communicator(communicator);
    }
  }
  trace.clock(reading_, now_ns_);
  const std::uint64_t in_flight = assembler_.write_in_flight(trace, now_ns_);
  write_account(trace, false);
  trace.end(now_ns_, file_.kept_operations() + in_flight, end_of_trace());
  if (!file.flush_whole()) {
    const int error = errno;
    fail(error);
    return give_up(error);
  }
  return 0;
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
