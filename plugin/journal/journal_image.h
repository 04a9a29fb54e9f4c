// SPDX-License-Identifier: Apache-2.0
//
// The journal of a dead process, as read from its file. No field of the file is trusted.
#ifndef RINGSIDE_PLUGIN_JOURNAL_JOURNAL_IMAGE_H
#define RINGSIDE_PLUGIN_JOURNAL_JOURNAL_IMAGE_H

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "plugin/assemble/clocks/gpu_clock.h"
#include "plugin/assemble/record_view.h"
#include "plugin/assemble/rows.h"
#include "plugin/journal/journal_format.h"
#include "plugin/result/result.h"

namespace ringside::journal {

struct KeptRecord {
  assemble::RecordView view;
  std::uint64_t operation = 0;
};

struct SegmentCounts {
  assemble::TypeCounts written, merged;
};
struct Window {
  std::uint32_t types;
  std::int64_t start_ns;
};

struct JournalImage {
  std::uint32_t pid = 0;
  std::uint64_t run_id = 0;
  std::uint64_t read_at_ticks = 0;  ///< of this machine, just before the files were read
  std::uint64_t sequence = 0;       ///< number of the checkpoint; 0: there is none
  journal::Checkpoint checkpoint{};
  std::string final_path;
  std::string first_line;  ///< of the first segment
  std::map<std::uint32_t, assemble::Communicator> communicators;
  std::uint64_t communicators_forgotten = 0;  ///< closed communicators that lost their place
  std::map<std::uint64_t, SegmentCounts> segment_counts;  ///< of closed segments
  std::map<std::uint32_t, Window> windows;
  std::map<std::uint32_t, assemble::GpuClockFit> gpu_clocks;
  std::vector<KeptRecord> records;             ///< in the order in which they were added
  std::deque<std::string> texts;               ///< of these
  std::unordered_set<std::uint64_t> in_trace;  ///< rows, as named by written_row
  std::uint64_t entries_lost = 0, notes_lost = 0, bad_entries = 0;

  std::int64_t ns(std::uint64_t ticks) const;
};

/// Reads a journal. Fails with EBADMSG; the text continues a sentence about the file.
Result read_journal(std::span<const std::byte> file, JournalImage& image);

}  // namespace ringside::journal

#endif  // RINGSIDE_PLUGIN_JOURNAL_JOURNAL_IMAGE_H
