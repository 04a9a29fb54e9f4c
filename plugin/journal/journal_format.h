// SPDX-License-Identifier: Apache-2.0
//
// The journal: a file in memory (tmpfs) that holds what has been taken out of the rings and is not
// in the trace yet, and what must be known to make a trace of it. After the death of the process
// the journal, the rings and the trace together hold everything that was recorded; plugin/recover
// puts them together.
//
//    +--------+-------------------------+---------------------------+---------------------------+
//    | header | notes, half 0 | half 1  | log, half 0               | log, half 1               |
//    +--------+-------------------------+---------------------------+---------------------------+
//
// Header: sizes, then the words that are published: which half of the log is in use and how much of
// it, how many bytes of notes there are, and the last checkpoint.
//
// Notes, in order: the trace's paths and first lines, communicators, windows, names, GPU clocks. A
// note is a NoteHead and its bytes, padded to 8. When a half is full, those that still count are
// written to the other one: of closed communicators the last ones only.
//
// Log: entries of 64 bytes. A record takes one or two, as it does in a ring; `head` replaces the
// slot's commit word, and nanoseconds on the trace's time line its ticks. An entry of kind
// kEntryWritten names rows that have been handed to the trace file, up to four in one entry. When a
// half is full, the entries of what is not finished are copied to the other half, which is then
// published in one store; the copies say whether their row is in the trace already.
//
// Checkpoint: how far the trace file had got, with the counts of the account that belong to that.
// There are two, and the sequence number tells which is valid. A trace file may be longer: what is
// behind `trace_bytes` is in the log as well, because a written row counts only if its sequence
// number is not above the checkpoint's.
//
// Versions: 3 has put what it adds behind the header of version 2, which is understood as before.
//
// All integers are little-endian.
#ifndef RINGSIDE_PLUGIN_JOURNAL_JOURNAL_FORMAT_H
#define RINGSIDE_PLUGIN_JOURNAL_JOURNAL_FORMAT_H

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "plugin/record/event_type.h"
#include "plugin/record/slot.h"

namespace ringside::assemble {

inline constexpr std::uint64_t kJournalMagic = 0x314C4E5252534752U;  // "RGSRRNL1"
inline constexpr std::uint32_t kJournalVersion = 3;
inline constexpr std::uint32_t kOldestJournalVersion = 2;
inline constexpr char kJournalName[] = "journal";
/// Of the directory that holds it and the rings.
inline constexpr std::string_view kRingsSuffix = ".rings";
/// The control socket beside it, while the process lives.
inline constexpr char kControlName[] = "control";

using TypeCounts = std::array<std::uint64_t, record::kAccountTypes>;

struct Checkpoint {
  std::uint64_t segment;         ///< of the trace, from 0
  std::uint64_t trace_bytes;     ///< in its file, whole lines
  std::uint64_t oldest_segment;  ///< that is not deleted
  std::uint64_t operations;      ///< written to all segments
  std::uint64_t next_operation;
  // Two readings of the clock: ticks are converted along the line through them.
  std::array<std::uint64_t, 2> clock_ticks;
  std::array<std::int64_t, 2> clock_ns;
  TypeCounts written, merged, dropped_write, dropped_memory, stale, dropped_no_ring, rotated,
      sampled_out;
};

/// Marks and ranges of the application: how many it made, and how many of these had no room. Who
/// makes one counts it before the call returns.
struct MarkCounts {
  std::atomic<std::uint64_t> marks, ranges, marks_lost, ranges_lost;
};

/// What the trace had with a checkpoint, beside what that says.
struct TraceCounts {
  std::uint64_t marks, ranges;  ///< of the application
  TypeCounts given_up;          ///< events that were written open, since too many were
};

struct JournalHeader {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t header_bytes;  ///< from the start of the file to the notes
  std::uint32_t entry_bytes;
  std::uint32_t pid;
  std::uint64_t notes_bytes;   ///< room for notes, in both halves together
  std::uint64_t half_entries;  ///< room in each half of the log
  std::uint64_t run_id;
  /// How often a half of the log was given up. Who reads the journal of a process that lives, and
  /// its rings before that, has seen one state of both only if this is the same before and after.
  std::atomic<std::uint64_t> turns;

  alignas(64) std::atomic<std::uint64_t> log;  ///< half in the top bit, entries in use below
  std::atomic<std::uint64_t> notes;            ///< half in the top bit, bytes in use below
  std::atomic<std::uint64_t> notes_lost;       ///< notes that have no room
  std::atomic<std::uint64_t> entries_lost;     ///< records that had no room in the log
  std::atomic<std::uint64_t> sequence;         ///< of the last checkpoint; 0: there is none
  std::array<Checkpoint, 2> checkpoints;       ///< checkpoint n is in n % 2

  // Since version 3.
  alignas(64) MarkCounts made;
  std::array<TraceCounts, 2> in_trace;  ///< beside the checkpoints
};
/// header_bytes of version 2.
inline constexpr std::size_t kJournalHeaderBytes2 = 2432;
static_assert(offsetof(JournalHeader, made) == kJournalHeaderBytes2);

inline constexpr std::uint64_t kHalfBit = std::uint64_t{1} << 63;

enum class NoteKind : std::uint32_t {
  kTracePath = 1,      ///< u64 segment, then the path of its file; empty: it has none
  kFirstLine = 2,      ///< u64 segment, then its first line, with "[" and newline
  kCommunicator = 3,   ///< CommunicatorNote; a later one of the same context replaces it
  kWindow = 4,         ///< WindowNoteData
  kName = 5,           ///< NameNote
  kGpuClock = 6,       ///< GpuClockNote; the last of a context counts
  kFinalPath = 7,      ///< where the trace, or the flight recorder's dump, belongs
  kSegmentCounts = 8,  ///< SegmentCountsNote, of a segment that is closed
  kForgotten = 9,      ///< u64: of so many communicators that were closed there are no notes
};

struct NoteHead {
  NoteKind kind;
  std::uint32_t bytes;  ///< that follow, without padding
};

/// So many segments back notes of segments count; as many windows.
inline constexpr std::uint64_t kNotedSegments = 64;
inline constexpr std::uint64_t kNotedWindows = 256;

struct CommunicatorNote {
  std::uint32_t context;
  std::int32_t abi_version, rank, nranks, nnodes, gpu_index;
  std::uint8_t has_hash, has_size, rank_known, unused[5];
  std::uint64_t hash;
  std::int64_t created_ns, finalized_ns;
  char name[128], gpu_uuid[64], gpu_pci[32];  // zero-padded
};
/// What is in a closed segment. It may be deleted before a checkpoint says so.
struct SegmentCountsNote {
  std::uint64_t segment;
  TypeCounts written, merged;
};
struct WindowNoteData {
  std::uint32_t number, types;
  std::int64_t start_ns;
};
struct NameNote {
  std::uint32_t ring, code;
  char text[32];  // zero-padded
};
struct GpuClockNote {
  std::uint64_t context, gpu_ref_ns, samples;
  std::int64_t ts_ref_ns;
  double drift;
};

/// kind of an entry beside those of record::RecordKind.
inline constexpr std::uint8_t kEntryWritten = 0x10;
/// Bit of an entry's flags: the row of its event is in the trace.
inline constexpr std::uint8_t kFlagRowWritten = 0x80;

inline constexpr int kEntryTidBits = 24;  // Linux has at most 2^22 threads

/// An entry of the log, and the second one of a record with an Extra.
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
      std::uint32_t context;
      record::Payload payload;
    } first;
    record::Extra extra;
    struct {
      std::uint64_t sequence;  ///< of the checkpoint that will include them
      std::uint64_t unused;
      std::uint8_t kind;  ///< kEntryWritten
      std::uint8_t count;
      std::uint8_t unused2[6];
      std::array<std::uint64_t, 4> rows;  ///< keys of rows (row_key)
    } written;
  };
};
static_assert(sizeof(JournalEntry) == 64);
static_assert(offsetof(JournalEntry, first.payload) == 32);
static_assert(offsetof(JournalEntry, first.kind) == offsetof(JournalEntry, written.kind));

}  // namespace ringside::assemble

#endif  // RINGSIDE_PLUGIN_JOURNAL_JOURNAL_FORMAT_H
