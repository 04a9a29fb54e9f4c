// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "plugin/journal/images.h"

namespace ringside::journal {
namespace {

// Contexts are numbered from 1, and each has a note. Some may be lost or forgotten (kForgotten).
// Tables are sized by context, so a number far above the count of notes is not believed.
constexpr std::uint32_t kContextsLost = 1024;
constexpr std::uint64_t kMostForgotten = 1U << 18;

// A century after the base. No later time can come from this clock.
constexpr std::int64_t kLatest_ns = std::int64_t{100} * 365 * 86'400 * 1'000'000'000;

template <std::size_t Size>
std::string text_of(const char (&text)[Size]) {
  return {text, std::find(text, text + Size, '\0')};
}

// Limits a time of the file, so that differences of times cannot overflow. kUnknownTime is the
// lower limit.
std::int64_t possible_ns(std::int64_t said_ns) {
  return std::clamp(said_ns, assemble::kUnknownTime, kLatest_ns);
}

void read_communicator(const CommunicatorNote& note, JournalImage& image) {
  const std::uint32_t context = note.context.load(std::memory_order_relaxed);
  if (context == 0) {
    return;
  }
  assemble::Communicator& made = image.communicators[context];
  made.context = context;
  for_each_number(note, made, [](const auto& of, auto& to) {
    to = static_cast<std::remove_reference_t<decltype(to)>>(of);
  });
  made.created_ns = possible_ns(made.created_ns);
  made.finalized_ns = possible_ns(made.finalized_ns);
  made.name = text_of(note.name);
  made.gpu_uuid = text_of(note.gpu_uuid);
  made.gpu_pci = text_of(note.gpu_pci);
  const std::uint64_t clocks = note.gpu_clocks.load(std::memory_order_relaxed);
  const GpuClockNote& clock = note.gpu_clock[clocks % 2];
  if (clocks != 0 && std::isfinite(clock.drift) && std::abs(clock.drift) <= 1) {
    image.gpu_clocks[context] = {clock.gpu_ref_ns, clock.ts_ref_ns, clock.drift, clock.samples};
  } else {
    image.bad_entries += clocks != 0 ? 1 : 0;
  }
}

void read_header_notes(const JournalHeader& header, JournalImage& image) {
  for (const WindowNote& window : header.windows) {
    if (const std::uint32_t number = window.number.load(std::memory_order_relaxed); number != 0) {
      image.windows[number] = {window.types, possible_ns(window.start_ns)};
    }
  }
  for (const SegmentNote& segment : header.segments) {
    if (const auto number = segment.segment.load(std::memory_order_relaxed); number != 0) {
      image.segment_counts[number] = {segment.written, segment.merged};
    }
  }
}

// Each part is bounded by its room, whatever the header says of it.
void read_notes(const JournalHeader& header, std::span<const std::byte> notes,
                JournalImage& image) {
  const auto layout = NotesLayout::of(notes.size());
  const auto* const texts = reinterpret_cast<const char*>(notes.data());
  const std::size_t path_bytes = std::min<std::size_t>(
      header.final_path_bytes.load(std::memory_order_relaxed), layout.texts_bytes);
  image.final_path.assign(texts, path_bytes);
  image.first_line.assign(
      texts + path_bytes,
      std::min<std::size_t>(header.first_line_bytes.load(std::memory_order_relaxed),
                            layout.texts_bytes - path_bytes));
  for (std::size_t i = 0; i < layout.communicators; ++i) {
    CommunicatorNote note{};
    const std::size_t at = layout.communicators_at() + i * sizeof note;
    std::memcpy(static_cast<void*>(&note), notes.data() + at, sizeof note);
    read_communicator(note, image);
  }
}

void drop_unlikely_contexts(JournalImage& image) {
  const std::size_t most = 2 * image.communicators.size() + kContextsLost +
                           std::min(image.communicators_forgotten, kMostForgotten);
  image.bad_entries +=
      std::erase_if(image.communicators, [most](const auto& known) { return known.first > most; });
}

void read_log(std::span<const std::byte> log, JournalImage& image) {
  const auto load = [&](std::size_t at) {
    JournalEntry entry;
    std::memcpy(&entry, log.data() + at * sizeof entry, sizeof entry);
    return entry;
  };
  const std::size_t count = log.size() / sizeof(JournalEntry);
  for (std::size_t at = 0; at < count; ++at) {
    const JournalEntry entry = load(at);
    if (static_cast<std::uint8_t>(entry.first.kind) == kEntryWritten) {
      const auto& written = entry.written;
      if (written.sequence <= image.sequence && written.count <= written.rows.size()) {
        image.in_trace.insert(written.rows.begin(), written.rows.begin() + written.count);
      }
      continue;
    }
    KeptRecord kept;
    const auto tid =
        static_cast<std::int32_t>(entry.head & ((std::uint64_t{1} << kEntryTidBits) - 1));
    const bool is_name = entry.first.kind == record::RecordKind::kName;
    kept.view =
        view_of(entry, is_name ? entry.first.context : record::event_ring(entry.first.id), tid);
    kept.view.ts_ns = possible_ns(kept.view.ts_ns);
    kept.operation = entry.head >> kEntryTidBits;
    const std::size_t slots = std::max<std::size_t>(entry.first.slots, 1);
    const bool is_whole =
        slots <= count - at &&
        take_rest(kept.view, slots, image.texts, [&](std::size_t slot) { return load(at + slot); });
    at += std::min(slots, count - at) - 1;
    if (!is_whole || !is_sound(kept.view)) {
      ++image.bad_entries;
      continue;
    }
    if ((kept.view.flags & kFlagRowWritten) != 0) {
      image.in_trace.insert(assemble::row_id(kept.view.id));
      kept.view.flags &= static_cast<std::uint8_t>(~kFlagRowWritten);
    }
    image.records.push_back(kept);
  }
}

}  // namespace

std::int64_t JournalImage::ns(std::uint64_t ticks) const {
  const auto& at_ticks = checkpoint.clock_ticks;
  const auto& at_ns = checkpoint.clock_ns;
  const auto since = static_cast<__int128>(ticks) - static_cast<__int128>(at_ticks[1]);
  const auto span_ticks = static_cast<__int128>(at_ticks[1]) - static_cast<__int128>(at_ticks[0]);
  const auto span_ns = static_cast<__int128>(at_ns[1]) - at_ns[0];
  const __int128 at = span_ticks > 0 ? at_ns[1] + since * span_ns / span_ticks : at_ns[1];
  return static_cast<std::int64_t>(std::clamp<__int128>(at, 0, kLatest_ns));
}

Result read_journal(std::span<const std::byte> file, JournalImage& image) {
  if (file.size() < sizeof(JournalHeader)) {
    return {EBADMSG, "is shorter than the head of a journal"};
  }
  alignas(JournalHeader) std::array<std::byte, sizeof(JournalHeader)> head{};
  std::memcpy(head.data(), file.data(), head.size());
  const auto& header = *reinterpret_cast<const JournalHeader*>(head.data());
  if (header.magic != kJournalMagic) {
    return {EBADMSG, "is not a journal"};
  }
  if (header.version != kJournalVersion) {
    return {EBADMSG, "is of version " + std::to_string(header.version) +
                         "; this ringside knows version " + std::to_string(kJournalVersion)};
  }
  const std::span<const std::byte> rest = file.subspan(sizeof(JournalHeader));
  if (header.header_bytes != sizeof(JournalHeader) || header.entry_bytes != sizeof(JournalEntry) ||
      header.notes_bytes > rest.size() ||
      header.half_entries > (rest.size() - header.notes_bytes) / 2 / sizeof(JournalEntry)) {
    return {EBADMSG, "says that it holds more than it does"};
  }
  image.pid = header.pid;
  image.run_id = header.run_id;
  image.sequence = header.sequence.load(std::memory_order_relaxed);
  if (image.sequence != 0) {
    image.checkpoint = header.checkpoints[image.sequence % 2];
    for (std::int64_t& clock_ns : image.checkpoint.clock_ns) {
      clock_ns = possible_ns(clock_ns);
    }
  }
  image.entries_lost = header.entries_lost.load(std::memory_order_relaxed);
  image.notes_lost = header.notes_lost.load(std::memory_order_relaxed);
  image.communicators_forgotten = header.communicators_forgotten.load(std::memory_order_relaxed);
  read_header_notes(header, image);
  read_notes(header, rest.first(header.notes_bytes), image);
  drop_unlikely_contexts(image);
  const std::uint64_t log = header.log.load(std::memory_order_relaxed);
  const std::uint64_t used = std::min<std::uint64_t>(log & ~kHalfBit, header.half_entries);
  const std::uint64_t first = (log & kHalfBit) != 0 ? header.half_entries : 0;
  read_log(
      rest.subspan(header.notes_bytes + first * sizeof(JournalEntry), used * sizeof(JournalEntry)),
      image);
  return {};
}

}  // namespace ringside::journal
