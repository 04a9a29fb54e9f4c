// SPDX-License-Identifier: Apache-2.0
#include "plugin/journal/journal.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "plugin/assemble/clocks/gpu_clock.h"

namespace ringside::journal {
namespace {

constexpr std::size_t kMostNotes_bytes = std::size_t{4} << 20;

// The place of the next entry is known only when this one was read, so entries are prefetched this
// many ahead.
constexpr std::size_t kFetchedAhead = 16;

template <std::size_t Size>
void copy_text(std::string_view from, char (&to)[Size]) {
  std::memset(std::copy_n(from.data(), std::min(from.size(), Size), to), 0,
              Size - std::min(from.size(), Size));
}

constexpr std::uint64_t head_of(std::uint64_t operation, std::int32_t tid) {
  constexpr std::uint64_t kTidMask = (std::uint64_t{1} << kEntryTidBits) - 1;
  return (operation << kEntryTidBits) | (static_cast<std::uint32_t>(tid) & kTidMask);
}

}  // namespace

Journal::Journal(void* memory, std::size_t bytes, std::uint32_t pid, std::uint64_t run_id)
    : header_(new (memory) JournalHeader{}) {
  header_->header_bytes = sizeof(JournalHeader);
  header_->entry_bytes = sizeof(JournalEntry);
  header_->pid = pid;
  header_->notes_bytes = std::min(kMostNotes_bytes, bytes / 4) / 1024 * 1024;
  layout_ = NotesLayout::of(header_->notes_bytes);
  header_->half_entries =
      (bytes - sizeof(JournalHeader) - header_->notes_bytes) / 2 / sizeof(JournalEntry);
  header_->run_id = run_id;
  header_->version = kJournalVersion;
  header_->magic = kJournalMagic;
}

JournalEntry* Journal::entries(bool half) {
  auto* const log = reinterpret_cast<char*>(header_) + header_->header_bytes + header_->notes_bytes;
  return reinterpret_cast<JournalEntry*>(log) + (half ? header_->half_entries : 0);
}

// Stores here and below have release order, so that a reader after the process's death who finds
// this store finds all earlier ones, too.
void Journal::publish(bool half, std::uint64_t used) {
  log_ = (half ? kHalfBit : 0) | used;
  header_->log.store(log_, std::memory_order_release);
}

// The turn is counted before the other half is published, so that a reader who finds that half in
// use also finds the new count.
void Journal::turn(std::uint64_t used) {
  header_->turns.fetch_add(1, std::memory_order_release);
  names_.clear();
  publish(!half(), used);
}

bool Journal::append(const assemble::RecordView& view, std::uint64_t operation) {
  const std::uint64_t count = view.has_extra ? 2 : record::slots_with_text(view.text.size());
  if (used() + count > header_->half_entries) {
    return false;
  }
  JournalEntry* const entry = entries(half()) + used();
  entry->head = head_of(operation, view.tid);
  entry->first.ts_ns = view.ts_ns;
  entry->first.id = view.id;
  entry->first.kind = view.kind;
  entry->first.type = view.type;
  entry->first.slots = static_cast<std::uint8_t>(count);
  entry->first.flags = view.flags;
  const bool is_name = view.kind == record::RecordKind::kName;
  entry->first.context = is_name ? view.ring : view.context;
  entry->first.payload = view.payload;
  if (view.has_extra) {
    entry[1].head = entry->head;
    entry[1].extra = view.extra;
  }
  std::string_view text = view.text;
  for (std::uint64_t i = 1; !text.empty(); ++i) {
    entry[i].head = entry->head;
    text.remove_prefix(text.copy(entry[i].text, sizeof entry[i].text));
  }
  publish(half(), used() + count);
  return true;
}

// Returns the rows that the log has as written and that the checkpoint includes, except operations'
// own lines.
assemble::IdSet Journal::rows_in_trace(std::uint64_t sequence) {
  const JournalEntry* const log = entries(half());
  constexpr std::size_t kRows = std::tuple_size_v<decltype(JournalEntry::written.rows)>;
  std::size_t entries_of_rows = 0;
  for (const Names& names : names_) {
    entries_of_rows += names.count;
  }
  assemble::IdSet in_trace(entries_of_rows * kRows);
  for (const Names& names : names_) {
    for (std::uint64_t at = names.first; at < names.first + names.count; ++at) {
      const auto& written = log[at].written;
      for (std::size_t i = 0; i < written.count && written.sequence <= sequence; ++i) {
        if ((written.rows[i] &
             (assemble::kOperationKey | assemble::kApiOperationKey | assemble::kStaleKey)) == 0) {
          in_trace.insert(written.rows[i]);
        }
      }
    }
  }
  return in_trace;
}

// Fills `questions` about the records from entry `from` on. Returns the entry behind the last of
// these records.
std::uint64_t Journal::ask(std::uint64_t from, std::vector<assemble::Question>& questions) {
  constexpr std::size_t kAtOnce = 2048;
  const JournalEntry* const log = entries(half());
  questions.clear();
  std::uint64_t at = from;
  while (at < used() && questions.size() < kAtOnce) {
    const JournalEntry& entry = log[at];
    __builtin_prefetch(log + std::min(at + kFetchedAhead, used()));
    if (static_cast<std::uint8_t>(entry.first.kind) == kEntryWritten) {
      ++at;
      continue;
    }
    questions.push_back({entry.head >> kEntryTidBits, entry.first.id});
    at += entry.first.slots;
  }
  return at;
}

void Journal::make_room(const assemble::Answer& answer) {
  const std::uint64_t sequence = header_->sequence.load(std::memory_order_relaxed);
  const JournalEntry* const from = entries(half());
  assemble::IdSet unpublished(written_.size());
  for (const std::uint64_t row : written_) {
    unpublished.insert(row);
  }
  const auto is_unpublished = [&](const assemble::Question& of) {
    const std::uint64_t row = assemble::row_id(of.id);
    return !written_.empty() &&
           (unpublished.contains(row) || unpublished.contains(row | assemble::kApiOperationKey) ||
            unpublished.contains(row | assemble::kStaleKey) ||
            (of.operation != 0 && unpublished.contains(of.operation | assemble::kOperationKey)));
  };
  const assemble::IdSet in_trace = rows_in_trace(sequence);
  JournalEntry* const to = entries(!half());
  std::uint64_t kept = 0;
  std::uint64_t kept_records = 0;
  std::vector<assemble::Question> questions;
  for (std::uint64_t at = 0; at < used();) {
    const std::uint64_t end = ask(at, questions);
    answer(questions);
    for (auto question = questions.begin(); at < end; ++at) {
      const JournalEntry& entry = from[at];
      __builtin_prefetch(from + std::min(at + kFetchedAhead, used()));
      if (static_cast<std::uint8_t>(entry.first.kind) == kEntryWritten) {
        continue;
      }
      const std::uint64_t count = entry.first.slots;
      at += count - 1;
      const assemble::Question& asked = *question++;
      const bool is_name = entry.first.kind == record::RecordKind::kName;
      if (!is_name && !asked.is_needed && !is_unpublished(asked)) {
        continue;
      }
      std::memcpy(static_cast<void*>(to + kept), &entry, count * sizeof entry);
      if (in_trace.contains(assemble::row_id(asked.id))) {
        to[kept].first.flags |= kFlagRowWritten;
      }
      kept += count;
      ++kept_records;
    }
  }
  // If more were kept, the half would be full again after a few records.
  if (kept > header_->half_entries / 8 * 7) {
    header_->entries_lost.fetch_add(kept_records, std::memory_order_relaxed);
    kept = 0;
  }
  turn(kept);
}

bool Journal::append_written() {
  JournalEntry* const log = entries(half());
  std::uint64_t at = used();
  const std::uint64_t sequence = header_->sequence.load(std::memory_order_relaxed) + 1;
  constexpr std::size_t kRows = std::tuple_size_v<decltype(JournalEntry::written.rows)>;
  if (at + (written_.size() + kRows - 1) / kRows > header_->half_entries) {
    return false;
  }
  for (std::size_t i = 0; i < written_.size(); i += kRows, ++at) {
    const std::size_t count = std::min(kRows, written_.size() - i);
    log[at].head = 0;
    log[at].written = {};
    log[at].written.sequence = sequence;
    log[at].written.kind = kEntryWritten;
    log[at].written.count = static_cast<std::uint8_t>(count);
    std::copy_n(written_.begin() + static_cast<std::ptrdiff_t>(i), count,
                log[at].written.rows.begin());
  }
  if (!written_.empty()) {
    names_.push_back({used(), at - used()});
  }
  publish(half(), at);
  return true;
}

void Journal::checkpoint(const Checkpoint& made, const assemble::Answer& answer) {
  if (!append_written()) {
    make_room(answer);
    if (!append_written()) {
      turn(0);  // written rows are in the trace; the others are lost
      header_->entries_lost.fetch_add(1, std::memory_order_relaxed);
    }
  }
  const std::uint64_t next = header_->sequence.load(std::memory_order_relaxed) + 1;
  header_->checkpoints[next % 2] = made;
  header_->sequence.store(next, std::memory_order_release);
  written_.clear();
}

void Journal::note_final_path(std::string_view path) {
  if (path.size() > layout_.texts_bytes) {
    lose_note();
    return;
  }
  std::memcpy(notes_at<char>(0), path.data(), path.size());
  header_->final_path_bytes.store(path.size(), std::memory_order_release);
}

void Journal::note_first_line(std::string_view line) {
  const std::uint64_t at = header_->final_path_bytes.load(std::memory_order_relaxed);
  if (line.size() > layout_.texts_bytes - at) {
    lose_note();
    return;
  }
  std::memcpy(notes_at<char>(at), line.data(), line.size());
  header_->first_line_bytes.store(line.size(), std::memory_order_release);
}

// A place is given away in a moment, however many communicators there are: NCCL waits for it.
CommunicatorNote* Journal::place_for(const assemble::Communicator& communicator) {
  if (const auto known = places_.find(communicator.context); known != places_.end()) {
    return communicator_at(known->second);
  }
  const bool is_closed = communicator.finalized_ns != assemble::kUnknownTime;
  if (is_closed || (places_.size() == layout_.communicators && closed_.empty())) {
    header_->notes_lost.fetch_add(is_closed ? 0 : 1, std::memory_order_relaxed);
    return nullptr;
  }
  auto place = static_cast<std::uint32_t>(places_.size());
  if (place == layout_.communicators) {
    place = places_.extract(closed_.front()).mapped();
    closed_.pop_front();
    header_->communicators_forgotten.fetch_add(1, std::memory_order_release);
  }
  CommunicatorNote* const note = communicator_at(place);
  note->context.store(0, std::memory_order_release);
  note->finalized_ns = assemble::kUnknownTime;
  note->gpu_clocks.store(0, std::memory_order_release);
  places_.emplace(communicator.context, place);
  return note;
}

void Journal::note(const assemble::Communicator& from) {
  const threads::MutexLock lock(notes_mutex_);
  CommunicatorNote* const made = place_for(from);
  if (made == nullptr) {
    return;
  }
  const bool is_closed_now =
      from.finalized_ns != assemble::kUnknownTime && made->finalized_ns == assemble::kUnknownTime;
  for_each_number(*made, from, [](auto& to, const auto& of) { to = of; });
  made->name_is_cut = from.name_is_cut || from.name.size() > sizeof made->name;
  copy_text(from.name, made->name);
  copy_text(from.gpu_uuid, made->gpu_uuid);
  copy_text(from.gpu_pci, made->gpu_pci);
  made->context.store(from.context, std::memory_order_release);
  if (is_closed_now) {
    closed_.push_back(from.context);
  }
}

void Journal::note_window(std::uint32_t number, std::uint32_t types, std::int64_t start_ns) {
  const threads::MutexLock lock(notes_mutex_);
  WindowNote& note = header_->windows[number % kNotedWindows];
  if (note.number.load(std::memory_order_relaxed) != number) {
    note.number.store(0, std::memory_order_release);
  }
  note.types = types;
  note.start_ns = start_ns;
  note.number.store(number, std::memory_order_release);
}

void Journal::note_segment(std::uint64_t segment, const assemble::TypeCounts& written,
                           const assemble::TypeCounts& merged) {
  SegmentNote& note = header_->segments[segment % kNotedSegments];
  note.segment.store(0, std::memory_order_release);
  note.written = written;
  note.merged = merged;
  note.segment.store(segment, std::memory_order_release);
}

void Journal::note_gpu_clock(std::uint32_t context, const assemble::GpuClockFit& fit) {
  const threads::MutexLock lock(notes_mutex_);
  if (const auto known = places_.find(context); known != places_.end()) {
    CommunicatorNote* const note = communicator_at(known->second);
    const std::uint64_t next = note->gpu_clocks.load(std::memory_order_relaxed) + 1;
    note->gpu_clock[next % 2] = {fit.gpu_ref_ns, fit.samples, fit.ts_ref_ns, fit.drift};
    note->gpu_clocks.store(next, std::memory_order_release);
  }
}

}  // namespace ringside::journal
