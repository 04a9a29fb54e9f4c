// SPDX-License-Identifier: Apache-2.0
#include "plugin/drain/trace_segments.h"

#include <algorithm>
#include <utility>

#include "plugin/drain/process_info.h"

namespace ringside::drain {
namespace {

constexpr std::int64_t kAccountEvery_ns = 1'000'000'000;
constexpr std::int64_t kClockEvery_ns = 10'000'000'000;
constexpr std::int64_t kAttemptEvery_ns = 1'000'000'000;
// Each write of a compressed trace is a member of its own, and is smaller for what is in it before.
constexpr std::int64_t kFlushCompressedEvery_ns = 1'000'000'000;
constexpr std::uint64_t kWorthCompressing_bytes = 64U << 10;

exporting::SegmentLimits segment_limits(const config::Config& config) {
  exporting::SegmentLimits limits;
  limits.in_memory = config.is_flight_recorder();
  limits.most_bytes = limits.in_memory ? config.flight_bytes : config.max_bytes;
  limits.compress = config.compress && !limits.in_memory && exporting::has_zlib();
  return limits;
}

}  // namespace

TraceSegments::TraceSegments(const config::Config& config, exporting::ProcessFacts& facts,
                             assemble::Assembler& assembler, const TraceClock& clock,
                             const TraceAccount& account, exporting::LiveMetrics& metrics,
                             TraceFigures& figures)
    : config_(config),
      facts_(facts),
      assembler_(assembler),
      clock_(clock),
      account_(account),
      metrics_(metrics),
      figures_(figures),
      directory_(absolute_path(config.directory)),
      files_(segment_limits(config)),
      path_(directory_ + "/" + trace_name(config, facts) + (files_.compresses() ? ".gz" : "")),
      trace_(files_),
      repeated_(trace_, assembler) {}

journal::Journal& TraceSegments::keep_journal(void* memory, std::size_t bytes) {
  return journal_.emplace(memory, bytes, static_cast<std::uint32_t>(facts_.pid), facts_.run_id);
}

void TraceSegments::checkpoint() {
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
  journal_->checkpoint(made, answer_);
}

void TraceSegments::make_room_in_journal() {
  flush();
  if (journal_) {
    journal_->make_room(answer_);
  }
}

void TraceSegments::begin() {
  begun_ = true;
  trace_.resume(facts_.pid, facts_.run_id);
  open();
  next_clock_ns_ = clock_.now_ns() + kClockEvery_ns;
  for (const exporting::Window& window : std::as_const(repeated_).windows()) {
    trace_.window(window);
  }
}

void TraceSegments::row(const assemble::Row& row, const assemble::Tally& tally) {
  const bool is_written =
      write_event(assemble::context_of(row), tally, [&] { trace_.row(row, tally); });
  if (const auto* const of = std::get_if<assemble::OperationRow>(&row)) {
    if (is_written) {
      files_.count_operation();
    }
    if (!of->operation->in_flight) {
      count(*of);
    }
  }
  note(assemble::row_key(row));
}

void TraceSegments::sampled_out(const assemble::Row& row) {
  if (const auto* const of = std::get_if<assemble::OperationRow>(&row)) {
    count(*of);
  }
  note(assemble::row_key(row));
}

void TraceSegments::communicator(const assemble::Communicator& communicator) {
  repeated_.communicator(communicator);
  if (journal_) {
    journal_->note(communicator);
  }
}

void TraceSegments::gpu_clock(std::uint32_t context, const assemble::GpuClockFit& fit) {
  repeated_.gpu_clock(context, fit);
  if (journal_) {
    journal_->note_gpu_clock(context, fit);
  }
}

void TraceSegments::count(const assemble::OperationRow& of) {
  const bool is_replay = of.operation->times_from != assemble::TimesFrom::kEnqueue;
  (is_replay ? figures_.replayed : figures_.captured) += of.operation->captured ? 1 : 0;
  try {
    metrics_.add(*of.operation, *of.communicator);
  } catch (const std::bad_alloc&) {
  }
}

void TraceSegments::note(std::uint64_t key) {
  try {
    if (journal_) {
      journal_->written(key);
    }
  } catch (const std::bad_alloc&) {
  }
}

// Makes the first file, and tries again if that has failed. Until there is a file, its lines are
// counted as lost; it then gets the first lines that it needs.
void TraceSegments::open() {
  if (files_.is_open() || closed_ || clock_.now_ns() < next_attempt_ns_) {
    return;
  }
  next_attempt_ns_ = clock_.now_ns() + kAttemptEvery_ns;
  const bool in_memory = config_.is_flight_recorder();
  const std::string path = in_memory ? ring_directory_ + path_.substr(directory_.size()) : path_;
  Result opened = in_memory ? Result() : exporting::make_directories(directory_);
  if (opened.is_ok()) {
    opened = files_.open_first(path, make_header(1), clock_.now_ns());
  }
  if (!opened.is_ok()) {
    figures_.fail(opened.error());
    return;
  }
  figures_.has_file.store(!in_memory, std::memory_order_release);
}

exporting::SegmentHeader TraceSegments::make_header(std::uint32_t segment) {
  facts_.segment = segment;
  facts_.segment_start_ns = segment == 1 ? facts_.start_ns : clock_.now_ns();
  exporting::TextSink lines;
  exporting::ChromeTrace trace(lines);
  trace.begin(facts_, false);
  write_clock(trace);
  if (segment != 1) {
    repeated_.write_first(trace);
  }
  return {std::move(lines.text), trace.first_line().size()};
}

void TraceSegments::make_room() {
  if (files_.has_much()) {
    flush();
  }
  if (files_.is_full(clock_.now_ns())) {
    begin_next();
  }
}

// Makes the next segment's file, with its header, before it ends the current segment, and stores
// that end before it begins the next one. If there is no room, the current segment continues.
void TraceSegments::begin_next() {
  const std::uint32_t next = files_.number() + 1;
  if (const Result made = files_.prepare_next(make_header(next), clock_.now_ns()); !made.is_ok()) {
    figures_.fail(made.error());
    return;
  }
  if (!end_current(next)) {
    files_.discard_next(clock_.now_ns());
    return;
  }
  if (const Result closed = files_.begin_next(clock_.now_ns()); !closed.is_ok()) {
    figures_.fail(closed.error());
  }
  repeated_.begin_segment();
  if (const exporting::WriteCounts* closed = files_.last_closed(); journal_ && closed != nullptr) {
    journal_->note_segment(next - 1, closed->written, closed->merged);
  }
  checkpoint();
}

// Ends the current segment. Returns false if it must continue, since a part of it was lost.
bool TraceSegments::end_current(std::uint32_t next) {
  if (!store() || !write_lost()) {
    return false;
  }
  files_.end_of_body();
  files_.make_room_for_end();
  write_clock(trace_);
  write_account(trace_, false);
  write_end(trace_, files_.operations(), next);
  return store();
}

// Stores the lines so far. Returns false if some are lost.
bool TraceSegments::store() {
  open();
  const bool has_file = files_.is_open();
  if (const Result stored = files_.flush(); !stored.is_ok()) {
    repeated_.note_lost();
    if (has_file) {
      figures_.fail(stored.error());  // else open() has noted the error
    }
    return false;
  }
  return true;
}

// Writes again the lost lines that the trace needs, if there is room. Returns false if some remain.
bool TraceSegments::write_lost() {
  if (!repeated_.has_lost() || !files_.is_open()) {
    return !repeated_.has_lost();
  }
  repeated_.write_lost();
  return store();
}

void TraceSegments::flush() {
  if (!begun_) {
    return;
  }
  if (store() && repeated_.has_lost() && clock_.now_ns() >= next_attempt_ns_) {
    next_attempt_ns_ = clock_.now_ns() + kAttemptEvery_ns;
    write_lost();
  }
  account_.count(figures_);
  checkpoint();
}

void TraceSegments::flush_if_worth() {
  const std::int64_t now_ns = clock_.now_ns();
  if (!files_.compresses() || files_.buffered_bytes() >= kWorthCompressing_bytes ||
      now_ns >= next_flush_ns_) {
    next_flush_ns_ = now_ns + kFlushCompressedEvery_ns;
    flush();
  }
}

void TraceSegments::write_due() {
  const std::int64_t now_ns = clock_.now_ns();
  const std::uint64_t consumed = account_.consumed();
  if (now_ns >= next_account_ns_ && consumed != accounted_) {
    next_account_ns_ = now_ns + kAccountEvery_ns;
    accounted_ = consumed;
    write_account(trace_, false);
    flush();
  }
  if (now_ns >= next_clock_ns_) {
    next_clock_ns_ = now_ns + kClockEvery_ns;
    write_clock(trace_);
  }
}

void TraceSegments::close() {
  next_attempt_ns_ = clock_.now_ns();  // allows a last attempt
  flush();
  write_lost();
  closed_ = true;
  if (!files_.is_open()) {
    return;
  }
  files_.end_of_body();
  files_.make_room_for_end();
  write_clock(trace_);
  write_account(trace_, true);
  write_end(trace_, files_.operations());
  store();  // nothing may follow the end
  checkpoint();
  if (const Result closed = files_.finish(); !closed.is_ok()) {
    figures_.fail(closed.error());
  }
  account_.count(figures_);
}

void TraceSegments::write_clock(exporting::ChromeTrace& trace) const {
  trace.clock(clock_.reading(), clock_.now_ns(), {}, record::read_realtime_error());
}

void TraceSegments::write_account(exporting::ChromeTrace& trace, bool final) const {
  trace.account(account_.make(final), clock_.now_ns(), final);
}

void TraceSegments::write_end(exporting::ChromeTrace& trace, std::uint64_t operations,
                              std::uint32_t next_segment) const {
  exporting::TraceEnd how = account_.end_of_trace();
  how.next_segment = next_segment;
  trace.end(clock_.now_ns(), operations, how);
}

Result TraceSegments::make_snapshot(exporting::TraceSnapshot& made) {
  flush();
  if (Result held = files_.is_open() ? files_.hold_kept(made.parts) : Result(); !held.is_ok()) {
    return held;
  }
  exporting::TextSink text;
  exporting::ChromeTrace dump(text);
  exporting::ProcessFacts facts = facts_;
  facts.segment = files_.oldest_number();
  facts.segment_start_ns = files_.oldest_start_ns();
  dump.begin(facts, true);
  made.head = std::move(text.text);
  text.text.clear();
  for (const assemble::Communicator& communicator : assembler_.communicators()) {
    if (communicator.context != 0) {
      dump.communicator(communicator);
    }
  }
  if (repeated_.has_lost()) {
    repeated_.write_first(dump);
  }
  write_clock(dump);
  const std::uint64_t in_flight = assembler_.write_in_flight(dump, clock_.now_ns());
  write_account(dump, false);
  write_end(dump, files_.kept_operations() + in_flight);
  made.tail = std::move(text.text);
  return {};
}

}  // namespace ringside::drain
