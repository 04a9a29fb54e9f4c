// SPDX-License-Identifier: Apache-2.0
//
// The journal is a file in memory (tmpfs). It holds the records that were taken out of the rings
// and are not in the trace yet, and the facts that are needed to make a trace of them. After the
// process has died, the journal, the rings and the trace together hold everything that was
// recorded. plugin/recover joins them.
//
//    +--------+-------+---------------+--------------------------+--------------------------+
//    | header | texts | communicators | log, half 0              | log, half 1              |
//    +--------+-------+---------------+--------------------------+--------------------------+
//
// Header: sizes, and then the words that publish the rest: which half of the log is in use and how
// much of it, and the last checkpoint. Behind them: windows, and the counts of closed segments.
//
// Texts: the path that the trace will get, and behind it the first line of its first segment.
//
// Communicators: a place for each, in no order. Where all are taken, the place of the communicator
// that was closed first goes to a new one.
//
// Log: entries of 64 bytes. A record takes as many as in a ring. `head` replaces the slot's
// commit word, and nanoseconds on the trace's time line replace its ticks. An entry of kind
// kEntryWritten names up to four rows that were passed to the trace file. When a half is full, the
// entries of unfinished events are copied to the other half, which is then published with one
// store. A copy has a flag if its row is in the trace already. Records of names, which say what a
// ring's codes mean, are always copied.
//
// Checkpoint: the length of the trace file, with the matching counts of the account. There are two
// checkpoints, and the sequence number tells which is valid. The trace file may be longer than
// `trace_bytes`. The log still has the events behind that length: a kEntryWritten with a sequence
// number above the checkpoint's does not count.
//
// All integers are little-endian.
#ifndef RINGSIDE_PLUGIN_JOURNAL_JOURNAL_FORMAT_H
#define RINGSIDE_PLUGIN_JOURNAL_JOURNAL_FORMAT_H

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "plugin/assemble/account.h"
#include "plugin/record/event_type.h"
#include "plugin/record/slot.h"

namespace ringside::journal {

inline constexpr std::uint64_t kJournalMagic = 0x314C4E5252534752U;  // "RGSRRNL1"
inline constexpr std::uint32_t kJournalVersion = 7;
inline constexpr char kJournalName[] = "journal";
/// Suffix of the directory that holds the journal and the rings.
inline constexpr std::string_view kRingsSuffix = ".rings";
/// Name of the control socket, which is in the same directory while the process lives.
inline constexpr char kControlName[] = "control";
/// Its name until it listens.
inline constexpr char kNewControlName[] = "control.new";

/// The parent of a directory like the rings', which holds nothing but the socket and a lock. It is
/// made if the ring directory cannot be made, or is not wanted.
inline std::string control_parent() {
  const char* const given = std::getenv("TMPDIR");
  return given != nullptr && *given == '/' ? given : "/tmp";
}

struct Checkpoint {
  std::uint64_t segment;         ///< number of the current segment, from 0
  std::uint64_t trace_bytes;     ///< bytes of whole lines in its text, but for its last lines
  std::uint64_t oldest_segment;  ///< the oldest segment that is not deleted
  std::uint64_t operations;      ///< operations written to all segments
  std::uint64_t next_operation;
  // Two readings of the clock. The line through them converts ticks to nanoseconds.
  std::array<std::uint64_t, 2> clock_ticks;
  std::array<std::int64_t, 2> clock_ns;
  assemble::TypeAccounts by_type;  ///< of the rings that are in no file (RingPool::for_marks), all
  assemble::TypeCounts given_up;   ///< evicted events
};

/// So many of the last closed segments, and of the last windows, are known.
inline constexpr std::uint64_t kNotedSegments = 32;
inline constexpr std::uint64_t kNotedWindows = 256;

/// The counts of a closed segment, which may be deleted before a checkpoint says so.
struct SegmentNote {
  std::atomic<std::uint64_t> segment;  ///< 0: none; stored last
  assemble::TypeCounts written, merged;
};
struct WindowNote {
  std::atomic<std::uint32_t> number;  ///< 0: none; stored last
  std::uint32_t types;
  std::int64_t start_ns;
};
struct GpuClockNote {
  std::uint64_t gpu_ref_ns, samples;
  std::int64_t ts_ref_ns;
  double drift;
};
struct CommunicatorNote {
  std::atomic<std::uint32_t> context;  ///< 0: none; stored last
  std::int32_t abi_version, rank, nranks, nnodes, gpu_index;
  std::uint8_t has_hash, has_size, rank_known, name_is_cut, unused[4];
  std::uint64_t hash;
  std::int64_t created_ns, finalized_ns;
  char name[128], gpu_uuid[48], gpu_pci[16];  // zero-padded
  std::atomic<std::uint64_t> gpu_clocks;      ///< how many came; the last is in gpu_clock[n % 2]
  std::array<GpuClockNote, 2> gpu_clock;
};

/// Calls copy(member of the note, member of the communicator) with each number.
template <typename Note, typename Communicator, typename Copy>
void for_each_number(Note& note, Communicator& communicator, Copy copy) {
  copy(note.abi_version, communicator.abi_version);
  copy(note.rank, communicator.rank);
  copy(note.nranks, communicator.nranks);
  copy(note.nnodes, communicator.nnodes);
  copy(note.gpu_index, communicator.gpu_index);
  copy(note.has_hash, communicator.has_hash);
  copy(note.has_size, communicator.has_size);
  copy(note.rank_known, communicator.rank_known);
  copy(note.name_is_cut, communicator.name_is_cut);
  copy(note.hash, communicator.hash);
  copy(note.created_ns, communicator.created_ns);
  copy(note.finalized_ns, communicator.finalized_ns);
}

/// What is where between the header and the log.
struct NotesLayout {
  std::size_t texts_bytes, communicators;  ///< room for so many

  static constexpr NotesLayout of(std::size_t notes_bytes) {
    constexpr std::size_t kMostTexts_bytes = std::size_t{64} << 10;
    const std::size_t texts = std::min(notes_bytes / 2, kMostTexts_bytes);
    return {texts, (notes_bytes - texts) / sizeof(CommunicatorNote)};
  }
  constexpr std::size_t communicators_at() const { return texts_bytes; }
};

struct JournalHeader {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t header_bytes;  ///< from the start of the file to the notes
  std::uint32_t entry_bytes;
  std::uint32_t pid;
  std::uint64_t notes_bytes;   ///< texts and communicators together (NotesLayout)
  std::uint64_t half_entries;  ///< room in each half of the log
  std::uint64_t run_id;
  /// How often the log has changed halves. A reader of a live process's rings and then journal has
  /// a consistent state only if this number has not changed.
  std::atomic<std::uint64_t> turns;

  alignas(64) std::atomic<std::uint64_t> log;  ///< half in the top bit, entries in use below
  std::atomic<std::uint64_t> notes_lost;       ///< texts and communicators without room
  std::atomic<std::uint64_t> entries_lost;     ///< records that had no room in the log
  std::atomic<std::uint64_t> sequence;         ///< number of the last checkpoint; 0: none
  std::array<Checkpoint, 2> checkpoints;       ///< checkpoint n is in n % 2

  // The bytes of each text that are in use. A text is stored once.
  alignas(64) std::atomic<std::uint64_t> final_path_bytes, first_line_bytes;
  std::atomic<std::uint64_t> communicators_forgotten;  ///< closed ones that lost their place
  std::array<WindowNote, kNotedWindows> windows;       ///< window n is in n % kNotedWindows
  std::array<SegmentNote, kNotedSegments> segments;    ///< segment n is in n % kNotedSegments
};

inline constexpr std::uint64_t kHalfBit = std::uint64_t{1} << 63;

/// An entry's kind, in addition to those of record::RecordKind.
inline constexpr std::uint8_t kEntryWritten = 0x10;
/// Bit of an entry's flags: the event's row is in the trace.
inline constexpr std::uint8_t kFlagRowWritten = 0x80;

inline constexpr int kEntryTidBits = 24;  // Linux has at most 2^22 threads

/// An entry of the log. A record with an Extra has a second one, and one with a text has more.
struct JournalEntry {
  std::uint64_t head;  ///< the operation's number (0: none) above kEntryTidBits of thread id
  union {
    struct {
      std::int64_t ts_ns;
      std::uint64_t id;
      record::RecordKind kind;
      record::EventType type;
      std::uint8_t slots;
      std::uint8_t flags;
      std::uint32_t context;  ///< of a name: its ring
      record::Payload payload;
    } first;
    record::Extra extra;
    char text[sizeof(record::Extra)];
    struct {
      std::uint64_t sequence;  ///< number of the checkpoint that will include the rows
      std::uint64_t unused;
      std::uint8_t kind;  ///< kEntryWritten
      std::uint8_t count;
      std::uint8_t unused2[6];
      std::array<std::uint64_t, 4> rows;  ///< keys of rows (row_key), or of stale records
    } written;
  };
};
static_assert(sizeof(JournalEntry) == 64);
static_assert(offsetof(JournalEntry, first.payload) == 32);
static_assert(offsetof(JournalEntry, first.kind) == offsetof(JournalEntry, written.kind));

}  // namespace ringside::journal

#endif  // RINGSIDE_PLUGIN_JOURNAL_JOURNAL_FORMAT_H
