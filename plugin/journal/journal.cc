// SPDX-License-Identifier: Apache-2.0
#include "plugin/journal/journal.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <optional>
#include <string>

#include "plugin/assemble/gpu_clock.h"

namespace ringside::assemble {
namespace {

constexpr std::size_t kMostNotes_bytes = std::size_t{4} << 20;

// The place of the next entry is known only when this one was read, so entries are prefetched this
// many ahead.
constexpr std::size_t kFetchedAhead = 16;

template <std::size_t Size>
void copy_text(std::string_view from, char (&to)[Size]) {
  std::memcpy(to, from.data(), std::min(from.size(), Size));
}

constexpr std::uint64_t head_of(std::uint64_t operation, std::int32_t tid) {
  constexpr std::uint64_t kTidMask = (std::uint64_t{1} << kEntryTidBits) - 1;
  return (operation << kEntryTidBits) | (static_cast<std::uint32_t>(tid) & kTidMask);
}

// Returns the segment that a note is about, if it is about one.
std::optional<std::uint64_t> segment_of(NoteKind kind, std::string_view note) {
  if (kind != NoteKind::kFirstLine && kind != NoteKind::kSegmentCounts) {
    return std::nullopt;
  }
  std::uint64_t segment = 0;
  std::memcpy(&segment, note.data(), std::min(sizeof segment, note.size()));
  return segment;
}

}  // namespace

Journal::Journal(void* memory, std::size_t bytes, std::uint32_t pid, std::uint64_t run_id)
    : header_(new (memory) JournalHeader{}) {
  header_->header_bytes = sizeof(JournalHeader);
  header_->entry_bytes = sizeof(JournalEntry);
  header_->pid = pid;
  header_->notes_bytes = std::min(kMostNotes_bytes, bytes / 4) / 128 * 128;
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

bool Journal::append(const RecordView& view, std::uint64_t operation) {
  const std::uint64_t count = view.has_extra ? 2 : 1;
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
  entry->first.context = view.context;
  entry->first.payload = view.payload;
  if (view.has_extra) {
    entry[1].head = entry->head;
    entry[1].extra = view.extra;
  }
  publish(half(), used() + count);
  return true;
}

// Returns the rows that the log has as written and that the checkpoint includes, except operations'
// own lines.
IdSet Journal::rows_in_trace(std::uint64_t sequence) {
  const JournalEntry* const log = entries(half());
  constexpr std::size_t kRows = std::tuple_size_v<decltype(JournalEntry::written.rows)>;
  std::size_t entries_of_rows = 0;
  for (const Names& names : names_) {
    entries_of_rows += names.count;
  }
  IdSet in_trace(entries_of_rows * kRows);
  for (const Names& names : names_) {
    for (std::uint64_t at = names.first; at < names.first + names.count; ++at) {
      const auto& written = log[at].written;
      for (std::size_t i = 0; i < written.count && written.sequence <= sequence; ++i) {
        if ((written.rows[i] & (kOperationKey | kApiOperationKey | kStaleKey)) == 0) {
          in_trace.insert(written.rows[i]);
        }
      }
    }
  }
  return in_trace;
}

// Fills `questions` about the records from entry `from` on. Returns the entry behind the last of
// these records.
std::uint64_t Journal::ask(std::uint64_t from, std::vector<Question>& questions) {
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
    at += entry.first.slots == 2 ? 2 : 1;
  }
  return at;
}

void Journal::make_room(const Answer& answer) {
  const std::uint64_t sequence = header_->sequence.load(std::memory_order_relaxed);
  const JournalEntry* const from = entries(half());
  IdSet unpublished(written_.size());
  for (const std::uint64_t row : written_) {
    unpublished.insert(row);
  }
  const auto is_unpublished = [&](const Question& of) {
    const std::uint64_t row = row_id(of.id);
    return !written_.empty() &&
           (unpublished.contains(row) || unpublished.contains(row | kApiOperationKey) ||
            unpublished.contains(row | kStaleKey) ||
            (of.operation != 0 && unpublished.contains(of.operation | kOperationKey)));
  };
  const IdSet in_trace = rows_in_trace(sequence);
  JournalEntry* const to = entries(!half());
  std::uint64_t kept = 0;
  std::uint64_t kept_records = 0;
  std::vector<Question> questions;
  for (std::uint64_t at = 0; at < used();) {
    const std::uint64_t end = ask(at, questions);
    answer(questions);
    for (auto question = questions.begin(); at < end; ++at) {
      const JournalEntry& entry = from[at];
      __builtin_prefetch(from + std::min(at + kFetchedAhead, used()));
      if (static_cast<std::uint8_t>(entry.first.kind) == kEntryWritten) {
        continue;
      }
      const std::uint64_t count = entry.first.slots == 2 ? 2 : 1;
      at += count - 1;
      const Question& asked = *question++;
      if (!asked.is_needed && !is_unpublished(asked)) {
        continue;
      }
      std::memcpy(static_cast<void*>(to + kept), &entry, count * sizeof entry);
      if (in_trace.contains(row_id(asked.id))) {
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

void Journal::count_mark(bool is_range, bool is_lost) {
  const auto add = [](std::atomic<std::uint64_t>& count) {
    count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  };
  MarkCounts& made = header_->made;
  add(is_range ? made.ranges : made.marks);
  if (is_lost) {
    add(is_range ? made.ranges_lost : made.marks_lost);
  }
}

void Journal::checkpoint(const Checkpoint& made, const Answer& answer, const TraceCounts& counts) {
  if (!append_written()) {
    make_room(answer);
    if (!append_written()) {
      turn(0);  // written rows are in the trace; the others are lost
      header_->entries_lost.fetch_add(1, std::memory_order_relaxed);
    }
  }
  const std::uint64_t next = header_->sequence.load(std::memory_order_relaxed) + 1;
  header_->checkpoints[next % 2] = made;
  header_->in_trace[next % 2] = counts;
  header_->sequence.store(next, std::memory_order_release);
  written_.clear();
}

bool Journal::write_note(NoteKind kind, std::string_view data) {
  const std::uint64_t room = header_->notes_bytes / 2;
  const std::uint64_t used = notes_ & ~kHalfBit;
  const std::uint64_t padded = (sizeof(NoteHead) + data.size() + 7) / 8 * 8;
  if (used + padded > room) {
    return false;
  }
  char* const to = reinterpret_cast<char*>(header_) + header_->header_bytes +
                   ((notes_ & kHalfBit) != 0 ? room : 0) + used;
  const NoteHead head{kind, static_cast<std::uint32_t>(data.size())};
  std::memcpy(to, &head, sizeof head);
  std::memcpy(to + sizeof head, data.data(), data.size());
  notes_ += padded;
  return true;
}

// Notes that a recovery cannot do without come first, because there may not be room for all of
// them.
void Journal::turn_notes() {
  std::uint64_t newest = 0;
  for (const auto& [which, text] : noted_) {
    newest = std::max(newest, segment_of(which.first, text).value_or(0));
  }
  const auto place = [&](const Noted& note) -> std::uint64_t {
    const auto segment = segment_of(note.first.first, note.second);
    if (segment && (*segment + 1 < newest || note.first.first == NoteKind::kSegmentCounts)) {
      return 2 + (newest - *segment);
    }
    return segment || note.first.first == NoteKind::kFinalPath ? 0 : 1;
  };
  std::vector<const Noted*> notes;
  for (const Noted& note : noted_) {
    notes.push_back(&note);
  }
  std::stable_sort(notes.begin(), notes.end(),
                   [&](const Noted* a, const Noted* b) { return place(*a) < place(*b); });
  notes_ = (notes_ ^ kHalfBit) & kHalfBit;
  std::uint64_t lost = 0;
  for (const Noted* const note : notes) {
    lost += write_note(note->first.first, note->second) ? 0 : 1;
  }
  header_->notes_lost.store(lost, std::memory_order_relaxed);
}

void Journal::add_note(NoteKind kind, std::uint64_t key, std::string_view data) {
  const threads::MutexLock lock(notes_mutex_);
  put_note(kind, key, data);
}

void Journal::put_note(NoteKind kind, std::uint64_t key, std::string_view data) {
  std::string text(data);  // first: if memory is too short, the earlier note remains valid
  noted_[{kind, key}] = std::move(text);
  if (!write_note(kind, data)) {
    turn_notes();
  }
  header_->notes.store(notes_, std::memory_order_release);
}

void Journal::add_segment_note(NoteKind kind, std::uint64_t segment, std::string_view text) {
  std::string data(bytes_of(segment));
  data.append(text);
  add_note(kind, segment % kNotedSegments, data);
}

void Journal::note_first_line(std::uint64_t segment, std::string_view line) {
  add_segment_note(NoteKind::kFirstLine, segment, line);
}

void Journal::note(const Communicator& from) {
  CommunicatorNote made{};
  made.context = from.context;
  made.abi_version = from.abi_version;
  made.rank = from.rank;
  made.nranks = from.nranks;
  made.nnodes = from.nnodes;
  made.gpu_index = from.gpu_index;
  made.has_hash = from.has_hash;
  made.has_size = from.has_size;
  made.rank_known = from.rank_known;
  made.hash = from.hash;
  made.created_ns = from.created_ns;
  made.finalized_ns = from.finalized_ns;
  copy_text(from.name, made.name);
  copy_text(from.gpu_uuid, made.gpu_uuid);
  copy_text(from.gpu_pci, made.gpu_pci);
  const threads::MutexLock lock(notes_mutex_);
  const auto before = noted_.find({NoteKind::kCommunicator, made.context});
  CommunicatorNote known{};
  known.finalized_ns = kUnknownTime;
  if (before != noted_.end()) {
    before->second.copy(reinterpret_cast<char*>(&known), sizeof known);
  }
  if (made.finalized_ns != kUnknownTime && known.finalized_ns == kUnknownTime) {
    closed_.push_back(made.context);
    forget_closed();
  }
  put_note(NoteKind::kCommunicator, made.context, bytes_of(made));
}

// Closed communicators lose their notes when the half is full.
void Journal::forget_closed() {
  constexpr std::size_t kEach_bytes =
      2 * sizeof(NoteHead) + sizeof(CommunicatorNote) + sizeof(GpuClockNote);
  while (closed_.size() > header_->notes_bytes / 2 / 2 / kEach_bytes) {
    noted_.erase({NoteKind::kCommunicator, closed_.front()});
    noted_.erase({NoteKind::kGpuClock, closed_.front()});
    closed_.pop_front();
    ++forgotten_;
    noted_[{NoteKind::kForgotten, 0}] = bytes_of(forgotten_);
  }
}

void Journal::note_name(std::uint32_t ring, std::uint64_t code, const record::NamePayload& name) {
  NameNote made{ring, static_cast<std::uint32_t>(code), {}};
  std::memcpy(made.text, name.text, sizeof made.text);
  add_note(NoteKind::kName, (std::uint64_t{ring} << 8) | code, bytes_of(made));
}

void Journal::note_gpu_clock(std::uint32_t context, const GpuClockFit& fit) {
  const GpuClockNote made{context, fit.gpu_ref_ns, fit.samples, fit.ts_ref_ns, fit.drift};
  const threads::MutexLock lock(notes_mutex_);
  if (noted_.contains({NoteKind::kCommunicator, context})) {
    put_note(NoteKind::kGpuClock, context, bytes_of(made));
  }
}

}  // namespace ringside::assemble
