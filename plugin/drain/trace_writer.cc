// SPDX-License-Identifier: Apache-2.0
#include "plugin/drain/trace_writer.h"

#include <cerrno>
#include <new>
#include <utility>

#include "plugin/assemble/sampling.h"
#include "plugin/drain/process_info.h"
#include "plugin/record/recorder.h"

namespace ringside::drain {
namespace {

constexpr std::int64_t kSettleEvery_ns = 50'000'000;
constexpr std::uint32_t kMostStepWarnings = 10;

std::string_view clock_name(record::ClockSource source) {
  return source == record::ClockSource::kTsc      ? "tsc"
         : source == record::ClockSource::kCntvct ? "cntvct"
                                                  : "clock_gettime";
}

std::string step_notice(const assemble::ClockStep& step) {
  const auto ms = [](std::int64_t ns) { return std::to_string(ns / 1'000'000) + " ms"; };
  return "the processor's counter stepped " +
         (step.size_ns < 0 ? "back by " + ms(-step.size_ns) : "ahead by " + ms(step.size_ns)) +
         " against CLOCK_MONOTONIC, as when a virtual machine is suspended or moved: recording "
         "goes on, and times of the last " +
         ms(step.before_ns - step.after_ns + 999'999) + " may be wrong by as much";
}

}  // namespace

TraceWriter::TraceWriter(const config::Config& config)
    : config_(config),
      facts_(read_process_facts(config)),
      segments_(config, facts_, assembler_, clock_, account_, metrics_, figures_),
      assembler_(segments_),
      reader_(record::g_recorder.rings(), clock_.model(), assembler_),
      account_(assembler_, segments_.files()) {
  facts_.base_time_s = clock_.model().base_time_s();
  assembler_.sample(config.sampled_of);
  facts_.start_ns = clock_.now_ns();
  facts_.clock = clock_name(TraceClock::source());
}

void TraceWriter::keep_journal(void* memory, std::size_t bytes) {
  journal::Journal& journal = segments_.keep_journal(memory, bytes);
  journal.note_final_path(path());
  reader_.set_journal(journal);
  facts_at_load_ = facts_;
  // A second clock reading gives the rate of the ticks before the first record comes.
  timespec left{0, 1'000'000};
  while (nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
  read_clocks();
  segments_.checkpoint();
}

void TraceWriter::announce(const assemble::Communicator& communicator,
                           const config::NcclFacts& nccl, std::uint32_t window,
                           std::uint32_t types) {
  journal::Journal* const journal = segments_.journal();
  if (journal == nullptr) {
    return;
  }
  assemble::Communicator noted = communicator;
  noted.created_ns = clock_.model().ns_of_monotonic(record::monotonic_ns());
  if (communicator.context == 1) {
    exporting::TextSink lines;
    exporting::ChromeTrace trace(lines);
    exporting::ProcessFacts& facts = facts_at_load_;
    facts.segment_start_ns = facts.start_ns;
    facts.nccl_version = nccl.version;
    facts.abi_version = nccl.abi_version;
    facts.events = config::event_names(types);
    trace.begin(facts, false);
    journal->note_first_line(trace.first_line());
    if (types != 0) {
      journal->note_window(window, types, noted.created_ns);
    }
  }
  journal->note(noted);
}

std::uint64_t TraceWriter::read_clocks() {
  const std::optional<assemble::ClockStep> step = clock_.read();
  if (step) {
    next_settle_ns_ = now_ns();  // so that the journal gets the clock's new line soon
    if (clock_.model().steps() <= kMostStepWarnings) {
      step_to_warn_of_ = step;
    }
    if (!segments_.is_closed()) {
      segments_.trace().clock(clock_.reading(), now_ns(), *step);
    }
  }
  return clock_.now();
}

void TraceWriter::apply(const OpenNote& note) {
  const bool is_first = facts_.abi_version == 0;
  facts_.nccl_version = note.nccl.version;
  facts_.abi_version = note.nccl.abi_version;
  // Later windows have lines of their own. If there is no window yet, readers learn from the empty
  // list that the first communicator was not recorded from its start.
  const auto& windows = segments_.repeated().windows();
  if (is_first && !windows.empty()) {
    facts_.events = windows.back().events;
  }
  if (!segments_.has_begun()) {
    segments_.begin();
  }
  assemble::Communicator communicator = note.communicator;
  communicator.created_ns = clock_.ns(note.ticks);
  assembler_.open_communicator(communicator);
  ++open_communicators_;
}

void TraceWriter::apply(const CloseNote& note) {
  assembler_.close_communicator(note.context, clock_.ns(note.ticks));
  metrics_.close(note.context);
  --open_communicators_;
}

void TraceWriter::apply(topology::Machine machine) {
  segments_.repeated().machine(now_ns(), std::move(machine));
}

void TraceWriter::apply(const WindowNote& note) {
  const std::int64_t ts_ns = clock_.ns(note.ticks);
  auto& windows = segments_.repeated().windows();
  const bool is_known = !windows.empty() && windows.back().number == note.number;
  if (note.what == WindowNote::What::kOpens) {
    if (!is_known) {
      segments_.repeated().open_window({.number = note.number, .start_ns = ts_ns, .events = {}});
    }
    assembler_.open_window(note.number, ts_ns);
  } else if (!is_known) {
    return;  // its opening was lost: memory was too short
  }
  exporting::Window& window = windows.back();
  if (note.what == WindowNote::What::kEnds) {
    window.end_ns = ts_ns;
    window.mask_changed = note.mask_changed;
  } else {
    if (note.what == WindowNote::What::kChanges) {
      window.changed_ns = ts_ns;
    }
    window.events = config::event_names(note.types);
    assembler_.expect(note.types, ts_ns);
    if (journal::Journal* const journal = segments_.journal()) {
      journal->note_window(window.number, note.types, window.start_ns);
    }
  }
  segments_.write_window(window);
}

std::uint64_t TraceWriter::read_rings(std::uint64_t until_ticks) {
  if (!has_begun()) {
    return 0;
  }
  std::uint64_t taken = take_records(until_ticks);
  if (reader_.has_doubts()) {
    read_clocks();
    taken += take_records(until_ticks);
  }
  return taken;
}

// Moves records from the rings to the assembler and the journal. Finished rows go on to the trace.
std::uint64_t TraceWriter::take_records(std::uint64_t until_ticks) {
  reader_.begin(until_ticks);
  for (bool has_room = true; !reader_.take_records(has_room);) {
    has_room = make_room_in_journal();
  }
  return reader_.taken();
}

// Removes the records from the journal that have reached the files. False if memory is too short.
bool TraceWriter::make_room_in_journal() {
  try {
    segments_.make_room_in_journal();
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

void TraceWriter::settle() {
  if (now_ns() < next_settle_ns_) {
    return;
  }
  next_settle_ns_ = now_ns() + kSettleEvery_ns;
  assembler_.settle(now_ns());
  segments_.flush_if_worth();
  if (segments_.has_begun()) {
    segments_.write_due();
  }
}

void TraceWriter::close() {
  if (is_closed()) {
    return;
  }
  assembler_.close(now_ns());
  segments_.close();
}

std::string TraceWriter::live_members(bool with_series) const {
  return drain::live_members(assembler_, metrics_, now_ns(),
                             with_series ? std::optional(account_.make(false)) : std::nullopt);
}

std::uint64_t TraceWriter::progress() const {
  std::uint64_t progress = figures_.bytes_written;
  record::RingPool& rings = record::g_recorder.rings();
  for (std::uint32_t i = 0; i < rings.count(); ++i) {
    if (const record::Ring* const ring = rings.ring(i); ring != nullptr) {
      progress += ring->tail.load(std::memory_order_relaxed);
    }
  }
  return progress;
}

bool TraceWriter::cannot_sample() const {
  return config_.sampled_of > 1 && facts_.abi_version != 0 &&
         facts_.abi_version <= assemble::kLastAbiWithoutSampling;
}

std::string TraceWriter::take_notice() {
  if (step_to_warn_of_) {
    return step_notice(*std::exchange(step_to_warn_of_, std::nullopt));
  }
  const exporting::SegmentFiles& files = segments_.files();
  const bool lacks_zlib = config_.compress && !config_.is_flight_recorder() && !files.compresses();
  if (notice_taken_ || (!lacks_zlib && !files.is_anonymous())) {
    return {};
  }
  notice_taken_ = true;
  if (lacks_zlib) {
    return "RINGSIDE_COMPRESS: libz.so.1 cannot be loaded; traces are not compressed";
  }
  return "the flight recorder has no room in " +
         (config_.ring_directory.empty() ? "files, as asked" : config_.ring_directory) +
         ": it goes on in memory that a kill of the process frees";
}

}  // namespace ringside::drain
