// SPDX-License-Identifier: Apache-2.0
//
// The journal and the rings of a dead process, as read from their files. No field of a file is
// trusted: of a ring, sizes are checked against the file, positions are bounded by the capacity,
// and a record counts only if its commit words fit its position.
#ifndef RINGSIDE_PLUGIN_JOURNAL_IMAGES_H
#define RINGSIDE_PLUGIN_JOURNAL_IMAGES_H

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

/// A record of a ring. Its member ts_ns holds ticks.
using RawRecord = assemble::RecordView;

struct RingImage {
  std::uint32_t index = 0;
  std::int32_t tid = 0;       ///< thread id of the last owner
  bool is_only_head = false;  ///< the records were not in the file, and ended with the process
  assemble::TypeAccounts by_type{};  ///< as far as the thread has counted
  std::vector<RawRecord> records;    ///< records that had not been taken out, oldest first
  std::deque<std::string> texts;     ///< of these
  std::uint64_t bad_records = 0;     ///< committed records that are not valid
};

/// Reads a ring's file. Fails with EBADMSG; the text continues a sentence about the file.
Result read_ring(std::span<const std::byte> file, RingImage& image);

assemble::RecordView view_of(const journal::JournalEntry& entry, std::uint32_t ring,
                             std::int32_t tid);

/// Takes what a record has in the slots behind its first, of which it says to have `slots`. `load`
/// returns one of these as an entry of the journal. A text is kept in `texts`. False: no record of
/// that type has so many.
template <typename Load>
bool take_rest(assemble::RecordView& view, std::size_t slots, std::deque<std::string>& texts,
               Load load) {
  const bool is_start = view.kind == record::RecordKind::kStart;
  if (!record::is_of_application(view.type) || !is_start) {
    view.has_extra = slots == 2;
    if (view.has_extra) {
      view.extra = load(1).extra;
    }
    return slots <= 2;
  }
  const record::MarkPayload& mark = view.payload.mark;
  const std::size_t bytes = std::size_t{mark.text_bytes} + mark.source_bytes;
  if (slots != record::slots_with_text(bytes) || slots > record::kMostSlots) {
    return false;
  }
  std::string& text = texts.emplace_back();
  for (std::size_t slot = 1; slot < slots; ++slot) {
    text.append(load(slot).text, sizeof(record::Slot::text));
  }
  text.resize(bytes);
  view.text = text;
  return true;
}

/// True if kind, type and id of a record agree. An assembler must only get such records.
bool is_sound(const assemble::RecordView& record);

}  // namespace ringside::journal

#endif  // RINGSIDE_PLUGIN_JOURNAL_IMAGES_H
