// SPDX-License-Identifier: Apache-2.0
#include "plugin/drain/trace_writer.h"

#include <algorithm>
#include <cerrno>
#include <type_traits>
#include <unistd.h>
#include <utility>

#include "plugin/drain/process_info.h"
#include "plugin/record/recorder.h"

namespace ringside::control {
namespace {

constexpr std::int64_t kSettleEvery_ns = 50'000'000;
constexpr std::int64_t kAccountEvery_ns = 1'000'000'000;
constexpr std::int64_t kClockEvery_ns = 10'000'000'000;
constexpr std::int64_t kAttemptEvery_ns = 1'000'000'000;
constexpr std::size_t kMostWindows = 200;
constexpr int kMostStepsTold = 10;

// Of each kSettleEvery_ns: the rings must not overflow meanwhile.
constexpr std::int64_t kCompress_ns = 10'000'000;

std::string_view clock_name(record::ClockSource source) {
  switch (source) {
    case record::ClockSource::kTsc:
      return "tsc";
    case record::ClockSource::kCntvct:
      return "cntvct";
    default:
      return "clock_gettime";
  }
}

exporting::SegmentLimits segment_limits(const Config& config) {
  exporting::SegmentLimits limits;
  limits.in_memory = config.is_flight_recorder();
  limits.most_bytes = limits.in_memory ? config.flight_bytes : config.max_bytes;
  limits.most_age_ns = static_cast<std::int64_t>(config.flight_seconds) * 1'000'000'000;
  limits.compress = config.compress;
  return limits;
}

}  // namespace

TraceWriter::TraceWriter(const Config& config)
    : facts_(read_process_facts(config)),
      directory_(absolute_path(config.directory)),
      path_(directory_ + "/" + trace_name(config, facts_)),
      reading_(record::read_clocks(record::g_recorder.clock_source())),
      clock_(reading_),
      config_(config),
      file_(segment_limits(config)),
      trace_(file_),
      segments_(
          trace_, file_, metrics_, [this] { make_room(); },
          [this](std::uint32_t context) { return find_communicator(context); }),
      sink_(segments_),
      assembler_(sink_),
      reader_(record::g_recorder.rings(), clock_, assembler_) {
  facts_.base_time_s = clock_.base_time_s();
  assembler_.set_sampling(config.sampling, facts_.base_time_s * 1'000'000'000);
  facts_.start_ns = now_ns_ = clock_.ns(reading_.ticks);
  if (config.markers_print) {
    printer_.emplace(STDOUT_FILENO, config_, facts_.host, facts_.base_time_s);
    segments_.print_with(*printer_);
  }
  facts_.clock = clock_name(record::g_recorder.clock_source());
}

void TraceWriter::keep_journal(void* memory, std::size_t bytes) {
  journal_.emplace(memory, bytes, static_cast<std::uint32_t>(facts_.pid), facts_.run_id);
  first_facts_ = facts_;
  journal_->note_final_path(path_);
  if (!config_.is_flight_recorder()) {
    journal_->note_trace(1, path_);
  }
  for (const bool is_range : {false, true}) {
    for (const bool is_lost : {false, true}) {
      for (std::uint64_t i = 0; i < early_counts_[is_range][is_lost]; ++i) {
        journal_->count_mark(is_range, is_lost);
      }
    }
  }
  sink_.set_journal(&*journal_);
  reader_.set_journal(&*journal_, [this] { flush(); });
  // Two readings, so that ticks mean something from the first record on.
  timespec left{0, 1'000'000};
  while (nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
  read_clocks();
  checkpoint();
}

void TraceWriter::announce(const assemble::Communicator& communicator, const NcclFacts& nccl,
                           std::uint32_t window, std::uint32_t types) {
  if (!journal_) {
    return;
  }
  struct Nowhere final : exporting::LineSink {
    void add(std::string_view, const assemble::Tally&) override {}
  } nowhere;
  exporting::ChromeTrace trace(nowhere);
  exporting::ProcessFacts facts = first_facts_;
  facts.segment = 1;
  facts.segment_start_ns = facts.start_ns;
  facts.nccl_version = nccl.version;
  facts.abi_version = nccl.abi_version;
  facts.events = event_names(types);
  trace.begin(facts, false);
  const auto now_ns = clock_.ns_of_monotonic(record::monotonic_ns());
  assemble::Communicator noted = communicator;
  noted.created_ns = now_ns;
  if (communicator.context == 1) {
    journal_->note_first_line(1, trace.first_line());
    if (types != 0) {
      journal_->note(assemble::WindowNoteData{window, types, now_ns});
    }
  }
  journal_->note(noted);
}

void TraceWriter::count_mark(bool is_range, bool is_lost) {
  if (journal_) {
    journal_->count_mark(is_range, is_lost);
  } else {
    ++early_counts_[is_range][is_lost];
  }
}

std::uint64_t TraceWriter::read_clocks() {
  reading_ = record::read_clocks(record::g_recorder.clock_source());
  const std::optional<assemble::ClockStep> step = clock_.add(reading_);
  const std::uint64_t ticks = clock_.steady(reading_.ticks, true);
  now_ns_ = clock_.ns_of_steady(ticks);
  segments_.set_time(now_ns_);
  if (step) {
    next_settle_ns_ = now_ns_;  // the journal is to have the clock's new line soon
    if (++steps_ <= kMostStepsTold) {
      step_to_tell_ = step;
    }
    if (trace_begun_ && !closed_) {
      trace_.clock(reading_, now_ns_, *step);
    }
  }
  return ticks;
}

void TraceWriter::begin_trace() {
  if (trace_begun_) {
    return;
  }
  trace_begun_ = true;
  trace_.resume(facts_.pid, facts_.run_id);
  open_file();
  next_clock_ns_ = now_ns_ + kClockEvery_ns;
  for (const exporting::Window& window : windows_) {
    trace_.window(window);
  }
  for (assemble::UserMark& mark : early_marks_) {
    assembler_.mark(std::move(mark));
  }
  early_marks_ = {};
}

// A file that cannot be made is tried again, and then has all that it needs. Until then what would
// be written is counted as lost.
void TraceWriter::open_file() {
  if (file_.is_open() || closed_ || now_ns_ < next_attempt_ns_) {
    return;
  }
  next_attempt_ns_ = now_ns_ + kAttemptEvery_ns;
  const bool in_memory = config_.is_flight_recorder();
  const std::string path = in_memory ? ring_directory_ + path_.substr(directory_.size()) : path_;
  if (journal_) {
    journal_->note_trace(1, path);
  }
  if ((!in_memory && !exporting::make_directories(directory_)) ||
      !file_.open_first(path, make_header(1), now_ns_)) {
    fail(errno);
    return;
  }
  has_file_.store(!in_memory, std::memory_order_release);
}

void TraceWriter::fail(int error) {
  last_error_.store(error, std::memory_order_relaxed);
  trouble_.store(true, std::memory_order_relaxed);
}

void TraceWriter::apply(const OpenNote& note) {
  const bool is_first = facts_.abi_version == 0;
  facts_.nccl_version = note.nccl.version;
  facts_.abi_version = note.nccl.abi_version;
  // Of later windows the trace has lines of their own. Readers take from an empty list here that
  // the first communicator was not recorded from its start.
  if (is_first && !windows_.empty()) {
    facts_.events = windows_.back().events;
  }
  begin_trace();
  assemble::Communicator communicator = note.communicator;
  communicator.created_ns = clock_.ns(note.ticks);
  assembler_.open_communicator(communicator);
}

void TraceWriter::apply(const CloseNote& note) {
  assembler_.close_communicator(note.context, clock_.ns(note.ticks));
  metrics_.close(note.context);
}

void TraceWriter::apply(const WindowNote& note) {
  const std::int64_t ts_ns = clock_.ns(note.ticks);
  const bool is_known = !windows_.empty() && windows_.back().number == note.number;
  if (note.opens && !is_known) {
    // A job that starts and stops for weeks must not grow; only the newest are ever written again.
    if (windows_.size() == kMostWindows) {
      windows_.erase(windows_.begin());
    }
    windows_.push_back(
        {.number = note.number, .start_ns = ts_ns, .events = event_names(note.types)});
  }
  if (note.opens) {
    assembler_.open_window(note.number, ts_ns);
    assembler_.expect(note.types, ts_ns);
    if (journal_) {
      journal_->note(assemble::WindowNoteData{note.number, note.types, ts_ns});
    }
  } else if (is_known) {
    windows_.back().end_ns = ts_ns;
    windows_.back().mask_changed = note.mask_changed;
    assembler_.lose_places(ts_ns);
  } else {
    return;  // memory was too short for its beginning
  }
  if (!trace_begun_) {
    return;  // begin_trace writes the windows that are there
  }
  trace_.window(windows_.back());
}

void TraceWriter::apply(const TypesNote& note) {
  exporting::Window& window = windows_.back();
  window.changed_ns = clock_.ns(note.ticks);
  window.events = event_names(note.types);
  assembler_.expect(note.types, window.changed_ns);
  if (journal_) {
    journal_->note(assemble::WindowNoteData{window.number, note.types, window.start_ns});
  }
  if (trace_begun_) {
    trace_.window(window);
  }
}

void TraceWriter::apply(const MarkNote& note) {
  assemble::UserMark mark = note.mark;
  mark.ts_ns = clock_.ns(note.ticks);
  if (trace_begun_) {
    assembler_.mark(std::move(mark));
  } else {
    early_marks_.push_back(std::move(mark));
  }
}

exporting::Account TraceWriter::account(bool final) {
  using record::kAccountTypes;
  exporting::Account made;
  const exporting::WriteCounts& file = file_.counts();
  const assemble::AssemblerCounts& counts = assembler_.counts();
  record::RingPool& pool = record::g_recorder.rings();
  for (std::size_t type = 0; type < kAccountTypes; ++type) {
    exporting::TypeAccount& of = made.by_type[type];
    for (std::uint32_t i = 0; i < pool.count(); ++i) {
      record::Ring* ring = pool.ring(i);
      if (ring == nullptr) {
        continue;
      }
      // Losses before `produced`: what is lost was produced (the partner is ProducerCounts::add).
      const auto load = [&](const auto& counters) {
        return counters[type].load(std::memory_order_acquire);
      };
      of.filtered += load(ring->counts.filtered);
      of.dropped_ring_full += load(ring->counts.dropped_ring_full);
      of.dropped_parent += load(ring->counts.dropped_parent);
      of.stale += load(ring->counts.stale);
      of.produced += load(ring->counts.produced);
    }
    of.dropped_no_ring = record::g_recorder.dropped_no_ring(static_cast<record::EventType>(type));
    of.produced += of.dropped_no_ring;
    const std::uint64_t lost_at_producer =
        of.filtered + of.dropped_ring_full + of.dropped_parent + of.stale + of.dropped_no_ring;
    of.in_rings = of.produced - lost_at_producer - counts.consumed[type];
    of.stale += counts.stale[type];
    const exporting::WriteCounts& deleted = file_.deleted();
    of.rotated = deleted.written[type] + deleted.merged[type];
    of.written = file.written[type] - deleted.written[type];
    of.merged = file.merged[type] - deleted.merged[type];
    of.dropped_write = file.dropped[type];
    of.dropped_memory = counts.dropped_memory[type] + file.dropped_memory[type];
    of.sampled_out = counts.sampled_out[type];
    const std::uint64_t placed = of.written + of.merged + of.rotated + of.dropped_write +
                                 of.sampled_out + counts.stale[type];
    // Where memory was too short in the middle of a record, it may count twice.
    of.dropped_memory = std::min(of.dropped_memory, counts.consumed[type] - placed);
    of.held = counts.consumed[type] - placed - of.dropped_memory;
    if (final && memory_was_short_) {
      of.dropped_memory += std::exchange(of.held, 0);  // at the end nothing is kept any more
    }
  }
  made.given_up = counts.given_up;
  for (const assemble::ThreadCounts& thread : reader_.thread_counts()) {
    made.by_thread.push_back({thread.tid, thread.produced, thread.dropped});
  }
  return made;
}

std::uint64_t TraceWriter::read_rings(std::uint64_t until_ticks) {
  std::uint64_t taken = reader_.read(until_ticks);
  if (reader_.has_doubts()) {
    read_clocks();
    taken += reader_.read(until_ticks);
  }
  const std::int64_t until_ns = clock_.ns_of_steady(until_ticks);
  assembler_.take_marks(until_ns);
  // Of a send that was lost, its lane does not know.
  if (config_.sampling.p2p_of > 1 && !places_lost_ && dropped_by_rings() > 0) {
    places_lost_ = true;
    assembler_.lose_places(read_until_ns_);
  }
  read_until_ns_ = until_ns;
  return taken;
}

std::uint64_t TraceWriter::dropped_by_rings() {
  std::uint64_t dropped = 0;
  for (const assemble::ThreadCounts& thread : reader_.thread_counts()) {
    dropped += thread.dropped;
  }
  return dropped;
}

// False if any of it was lost.
bool TraceWriter::store() {
  open_file();
  const bool has_file = file_.is_open();
  if (!file_.flush()) {
    has_lost_lines_ = true;
    segments_.lost();
    if (has_file) {
      fail(errno);  // else open_file has said why
    }
    return false;
  }
  segments_.stored();
  return true;
}

// Where there is room again, what was lost and must not be is told once more. False if it is not.
bool TraceWriter::tell_lost() {
  if (!has_lost_lines_ || !file_.is_open()) {
    return !has_lost_lines_;
  }
  has_lost_lines_ = false;
  repeat_windows(trace_);
  segments_.tell_lost();
  return store();
}

void TraceWriter::flush() {
  if (!trace_begun_) {
    return;
  }
  if (store() && has_lost_lines_ && now_ns_ >= next_attempt_ns_) {
    next_attempt_ns_ = now_ns_ + kAttemptEvery_ns;
    tell_lost();
  }
  operations_.store(assembler_.operations(), std::memory_order_relaxed);
  bytes_written_.store(file_.total_bytes(), std::memory_order_relaxed);
  bytes_kept_.store(file_.kept_bytes(), std::memory_order_relaxed);
  std::uint64_t lost = 0;
  std::uint64_t rotated = 0;
  std::uint64_t given_up = 0;
  for (std::size_t type = 0; type < record::kAccountTypes; ++type) {
    lost += file_.counts().dropped[type] + file_.counts().dropped_memory[type] +
            assembler_.counts().dropped_memory[type];
    rotated += file_.deleted().written[type] + file_.deleted().merged[type];
    given_up += assembler_.counts().given_up[type];
  }
  rotated_.store(rotated, std::memory_order_relaxed);
  given_up_.store(given_up, std::memory_order_relaxed);
  lost_.store(lost, std::memory_order_relaxed);
  if (journal_) {
    checkpoint();
  }
}

void TraceWriter::checkpoint() {
  assemble::Checkpoint made{};
  // Before the file is made, what there is belongs to the first one.
  made.segment = std::max<std::uint64_t>(file_.number(), 1);
  made.oldest_segment = file_.oldest_number();
  made.trace_bytes = file_.bytes();
  made.operations = file_.operations();
  made.next_operation = assembler_.next_operation();
  const assemble::ClockModel::Line line = clock_.line();
  made.clock_ticks = line.ticks;
  made.clock_ns = line.ns;
  made.dropped_write = file_.counts().dropped;
  made.dropped_memory = assembler_.counts().dropped_memory;
  made.stale = assembler_.counts().stale;
  made.sampled_out = assembler_.counts().sampled_out;
  const exporting::WriteCounts& deleted = file_.deleted();
  for (std::size_t type = 0; type < record::kAccountTypes; ++type) {
    made.written[type] = file_.counts().written[type] - deleted.written[type];
    made.merged[type] = file_.counts().merged[type] - deleted.merged[type];
    made.rotated[type] = deleted.written[type] + deleted.merged[type];
    made.dropped_memory[type] += file_.counts().dropped_memory[type];
    made.dropped_no_ring[type] =
        record::g_recorder.dropped_no_ring(static_cast<record::EventType>(type));
  }
  journal_->checkpoint(made,
                       [this](std::span<assemble::Question> asked) { assembler_.answer(asked); },
                       {sink_.marks(), sink_.ranges(), assembler_.counts().given_up});
}

void TraceWriter::write_account(exporting::ChromeTrace& trace, bool final) {
  trace.account(account(final), now_ns_, final);
}

void TraceWriter::settle() {
  if (now_ns_ < next_settle_ns_) {
    return;
  }
  next_settle_ns_ = now_ns_ + kSettleEvery_ns;
  assembler_.settle(now_ns_);
  flush();
  if (!trace_begun_) {
    return;
  }
  std::uint64_t consumed = 0;
  for (const std::uint64_t of : assembler_.counts().consumed) {
    consumed += of;
  }
  if (now_ns_ >= next_account_ns_ && consumed != accounted_) {
    next_account_ns_ = now_ns_ + kAccountEvery_ns;
    accounted_ = consumed;
    write_account(trace_, false);
    flush();
  }
  if (now_ns_ >= next_clock_ns_) {
    next_clock_ns_ = now_ns_ + kClockEvery_ns;
    trace_.clock(reading_, now_ns_);
  }
  file_.compress_for(kCompress_ns);
}

exporting::TraceEnd TraceWriter::end_of_trace() const {
  const auto unless_none = [](std::uint64_t lost) {
    return lost != 0 ? std::optional(lost) : std::nullopt;
  };
  return {.marks_lost = unless_none(marks_refused_ + marks_not_written()),
          .ranges_lost = unless_none(ranges_refused_ + ranges_left_out() + ranges_not_written())};
}

void TraceWriter::close() {
  if (!trace_begun_ || closed_) {
    return;
  }
  assembler_.close(now_ns_);
  sink_.complete_until(now_ns_);
  next_attempt_ns_ = now_ns_;  // the last one
  flush();
  closed_ = true;
  if (!file_.is_open()) {
    return;
  }
  file_.end_of_body();
  file_.make_room_for_end(true);
  trace_.clock(reading_, now_ns_);
  write_account(trace_, true);
  trace_.end(now_ns_, file_.operations(), end_of_trace());
  flush();
  file_.finish();
  compress_at_exit();
  file_.end_compression();
}

}  // namespace ringside::control
