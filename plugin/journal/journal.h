// SPDX-License-Identifier: Apache-2.0
//
// Writes the journal (journal_format.h) into memory that the caller has mapped. Used by the drain
// thread, except for notes of communicators and windows, which any thread may add. A later reader
// finds it as the last store left it.
#ifndef RINGSIDE_PLUGIN_JOURNAL_JOURNAL_H
#define RINGSIDE_PLUGIN_JOURNAL_JOURNAL_H

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "plugin/assemble/record_view.h"
#include "plugin/assemble/rows.h"
#include "plugin/assemble/tables/id_set.h"
#include "plugin/journal/journal_format.h"
#include "plugin/threads/mutex.h"

namespace ringside::assemble {
struct GpuClockFit;
}

namespace ringside::journal {

class Journal {
 public:
  static constexpr std::size_t kLeastBytes = std::size_t{128} << 10;

  /// Makes an empty journal in zeroed memory of at least kLeastBytes. The memory remains the
  /// caller's.
  Journal(void* memory, std::size_t bytes, std::uint32_t pid, std::uint64_t run_id);

  /// Whether any record can be added. If not, make_room makes some.
  bool has_room() const { return used() + record::kMostSlots <= header_->half_entries; }

  /// Adds a record that belongs to an operation (0: none). Returns false if there is no room.
  bool append(const assemble::RecordView& view, std::uint64_t operation);

  void lose_record() { header_->entries_lost.fetch_add(1, std::memory_order_relaxed); }

  /// Copies the entries that are still needed, or were written to the trace since the last
  /// checkpoint, to the other half. If even they leave little room, all entries are dropped and
  /// counted.
  void make_room(const assemble::Answer& answer);

  /// Notes that a row was passed to the trace file. This takes effect with the next checkpoint.
  void written(std::uint64_t row) { written_.push_back(row); }

  /// Publishes the state of the trace file. It has all rows that were passed to it before.
  void checkpoint(const Checkpoint& made, const assemble::Answer& answer);

  /// The path that the trace, or the flight recorder's dump, will get. Only once.
  void note_final_path(std::string_view path);
  /// The first line of the trace's first segment, with "[" and newline. Once, after the path.
  void note_first_line(std::string_view line);
  /// Notes what is known of a communicator now. If there is no place, the communicator that was
  /// closed first loses its own: the log has no records of it any more.
  void note(const assemble::Communicator& communicator);
  void note_window(std::uint32_t number, std::uint32_t types, std::int64_t start_ns);
  void note_segment(std::uint64_t segment, const assemble::TypeCounts& written,
                    const assemble::TypeCounts& merged);
  void note_gpu_clock(std::uint32_t context, const assemble::GpuClockFit& fit);

 private:
  JournalEntry* entries(bool half);
  std::uint64_t used() const { return log_ & ~kHalfBit; }
  bool half() const { return (log_ & kHalfBit) != 0; }
  assemble::IdSet rows_in_trace(std::uint64_t sequence);
  std::uint64_t ask(std::uint64_t from, std::vector<assemble::Question>& questions);
  void publish(bool half, std::uint64_t used);
  void turn(std::uint64_t used);
  /// The place in the notes' memory, `at` bytes from its begin.
  template <typename What>
  What* notes_at(std::size_t at) {
    return reinterpret_cast<What*>(reinterpret_cast<char*>(header_) + sizeof(JournalHeader) + at);
  }
  void lose_note() { header_->notes_lost.fetch_add(1, std::memory_order_relaxed); }
  CommunicatorNote* communicator_at(std::uint32_t place) {
    return notes_at<CommunicatorNote>(layout_.communicators_at()) + place;
  }
  CommunicatorNote* place_for(const assemble::Communicator& communicator)
      RINGSIDE_REQUIRES(notes_mutex_);
  bool append_written();

  JournalHeader* const header_;
  std::uint64_t log_ = 0;  ///< the published word
  std::vector<std::uint64_t> written_;
  /// The entries of this half that name written rows, in order.
  struct Names {
    std::uint64_t first, count;
  };
  std::vector<Names> names_;
  NotesLayout layout_;
  threads::Mutex notes_mutex_;  // guards windows and communicators in the journal's memory, too
  std::unordered_map<std::uint32_t, std::uint32_t> places_
      RINGSIDE_GUARDED_BY(notes_mutex_);  ///< of communicators, by context
  /// Closed communicators that have a place, in the order in which they were closed.
  std::deque<std::uint32_t> closed_ RINGSIDE_GUARDED_BY(notes_mutex_);
};

}  // namespace ringside::journal

#endif  // RINGSIDE_PLUGIN_JOURNAL_JOURNAL_H
