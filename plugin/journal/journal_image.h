// SPDX-License-Identifier: Apache-2.0
//
// What is in the journal of a process that has died. As with the rings, no field is trusted.
#ifndef RINGSIDE_PLUGIN_JOURNAL_JOURNAL_IMAGE_H
#define RINGSIDE_PLUGIN_JOURNAL_JOURNAL_IMAGE_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "plugin/assemble/gpu_clock.h"
#include "plugin/assemble/record_view.h"
#include "plugin/assemble/rows.h"
#include "plugin/journal/journal_format.h"

namespace ringside::recover {

struct KeptRecord {
  assemble::RecordView view;
  std::uint64_t operation = 0;
};

/// Marks and ranges of the application, and events that were given up, as the header has them.
struct LossCounts {
  std::uint64_t marks = 0, ranges = 0;            ///< that the application made
  std::uint64_t marks_lost = 0, ranges_lost = 0;  ///< of these, that had no room
  assemble::TraceCounts in_trace{};               ///< with the checkpoint
};

struct JournalImage {
  std::uint32_t pid = 0;
  std::uint64_t run_id = 0;
  std::int64_t read_at_realtime_ns = 0;  ///< a moment before it and the rings were read
  std::uint64_t sequence = 0;  ///< of the checkpoint; 0: there is none, and it is all zero
  assemble::Checkpoint checkpoint{};
  std::optional<LossCounts> losses;                  ///< none: not known, as in version 2
  std::map<std::uint64_t, std::string> traces;       ///< paths by segment
  std::map<std::uint64_t, std::string> first_lines;  ///< the same way
  std::string final_path;
  std::map<std::uint32_t, assemble::Communicator> communicators;
  std::uint64_t communicators_forgotten = 0;  ///< closed for long, and not among them
  std::map<std::uint64_t, assemble::SegmentCountsNote> segment_counts;
  std::map<std::uint32_t, assemble::WindowNoteData> windows;
  std::vector<assemble::NameNote> names;
  std::map<std::uint32_t, assemble::GpuClockFit> gpu_clocks;
  std::vector<KeptRecord> records;             ///< in the order in which they were taken
  std::unordered_set<std::uint64_t> in_trace;  ///< rows, as the log names them
  std::uint64_t entries_lost = 0, notes_lost = 0, bad_entries = 0;

  /// Ticks to nanoseconds on the trace's time line.
  std::int64_t ns(std::uint64_t ticks) const;
};

/// Reads a journal. Empty if all is well, else what is wrong with the file.
std::string read_journal(std::span<const std::byte> file, JournalImage& image);

}  // namespace ringside::recover

#endif  // RINGSIDE_PLUGIN_JOURNAL_JOURNAL_IMAGE_H
