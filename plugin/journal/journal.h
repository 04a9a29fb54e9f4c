// SPDX-License-Identifier: Apache-2.0
//
// Writes the journal (journal_format.h) into memory that the caller has mapped. Used by the drain
// thread, except for notes, which any thread may add. A later reader finds it as the last store
// left it.
#ifndef RINGSIDE_PLUGIN_JOURNAL_JOURNAL_H
#define RINGSIDE_PLUGIN_JOURNAL_JOURNAL_H

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plugin/assemble/id_set.h"
#include "plugin/assemble/question.h"
#include "plugin/assemble/record_view.h"
#include "plugin/assemble/rows.h"
#include "plugin/journal/journal_format.h"
#include "plugin/threads/mutex.h"

namespace ringside::assemble {

struct GpuClockFit;

class Journal {
 public:
  static constexpr std::size_t kLeastBytes = std::size_t{128} << 10;

  /// Makes an empty journal in zeroed memory of at least kLeastBytes. The memory remains the
  /// caller's.
  Journal(void* memory, std::size_t bytes, std::uint32_t pid, std::uint64_t run_id);

  /// Whether any record can be added. If not, make_room makes some.
  bool has_room() const { return used() + 2 <= header_->half_entries; }

  /// Adds a record that belongs to an operation (0: none). Returns false if there is no room.
  bool append(const RecordView& view, std::uint64_t operation);

  void lose_record() { header_->entries_lost.fetch_add(1, std::memory_order_relaxed); }

  /// Copies the entries that are still needed, or were written to the trace since the last
  /// checkpoint, to the other half. If even they leave little room, all entries are dropped and
  /// counted.
  void make_room(const Answer& answer);

  /// Notes that a row was passed to the trace file. This takes effect with the next checkpoint.
  void written(std::uint64_t row) { written_.push_back(row); }

  /// Publishes the state of the trace file. It has all rows that were passed to it before.
  void checkpoint(const Checkpoint& made, const Answer& answer, const TraceCounts& counts = {});

  /// Counts a mark, or the beginning of a range, of the application. A lost one will never be in
  /// the trace. Any thread, but only one at a time.
  void count_mark(bool is_range, bool is_lost);

  void note_final_path(std::string_view path) { add_note(NoteKind::kFinalPath, 0, path); }
  void note_first_line(std::uint64_t segment, std::string_view line);
  /// Notes a communicator. The last closed communicators keep their notes, as many as fill half of
  /// the room. The log has no records of the others any more.
  void note(const Communicator& communicator);
  void note(const WindowNoteData& window) {
    add_note(NoteKind::kWindow, window.number % kNotedWindows, bytes_of(window));
  }
  void note(const SegmentCountsNote& counts) {
    add_note(NoteKind::kSegmentCounts, counts.segment % kNotedSegments, bytes_of(counts));
  }
  void note_name(std::uint32_t ring, std::uint64_t code, const record::NamePayload& name);
  void note_gpu_clock(std::uint32_t context, const GpuClockFit& fit);

 private:
  using Noted = std::pair<const std::pair<NoteKind, std::uint64_t>, std::string>;

  JournalEntry* entries(bool half);
  std::uint64_t used() const { return log_ & ~kHalfBit; }
  bool half() const { return (log_ & kHalfBit) != 0; }
  IdSet rows_in_trace(std::uint64_t sequence);
  std::uint64_t ask(std::uint64_t from, std::vector<Question>& questions);
  void publish(bool half, std::uint64_t used);
  void turn(std::uint64_t used);
  template <typename Data>
  static std::string_view bytes_of(const Data& data) {
    return {reinterpret_cast<const char*>(&data), sizeof data};
  }
  void add_segment_note(NoteKind kind, std::uint64_t segment, std::string_view text);
  /// A note replaces an earlier one of its kind and key.
  void add_note(NoteKind kind, std::uint64_t key, std::string_view data)
      RINGSIDE_EXCLUDES(notes_mutex_);
  void put_note(NoteKind kind, std::uint64_t key, std::string_view data)
      RINGSIDE_REQUIRES(notes_mutex_);
  void forget_closed() RINGSIDE_REQUIRES(notes_mutex_);
  bool write_note(NoteKind kind, std::string_view data) RINGSIDE_REQUIRES(notes_mutex_);
  void turn_notes() RINGSIDE_REQUIRES(notes_mutex_);
  bool append_written();

  JournalHeader* const header_;
  std::uint64_t log_ = 0;  ///< the published word
  std::vector<std::uint64_t> written_;
  /// The entries of this half that name written rows, in order.
  struct Names {
    std::uint64_t first, count;
  };
  std::vector<Names> names_;
  threads::Mutex notes_mutex_;  // guards the notes in the journal's memory, too
  std::uint64_t notes_ RINGSIDE_GUARDED_BY(notes_mutex_) = 0;  ///< the published word
  std::map<std::pair<NoteKind, std::uint64_t>, std::string> noted_
      RINGSIDE_GUARDED_BY(notes_mutex_);  ///< by kind and key
  /// Closed communicators that have a note, in the order in which they were closed.
  std::deque<std::uint32_t> closed_ RINGSIDE_GUARDED_BY(notes_mutex_);
  std::uint64_t forgotten_ RINGSIDE_GUARDED_BY(notes_mutex_) = 0;
};

}  // namespace ringside::assemble

#endif  // RINGSIDE_PLUGIN_JOURNAL_JOURNAL_H
