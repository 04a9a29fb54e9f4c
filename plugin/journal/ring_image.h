// SPDX-License-Identifier: Apache-2.0
//
// The ring of a dead process, as read from its file. No field of the file is trusted: sizes are
// checked against the file, positions are bounded by the capacity, and a record counts only if its
// commit words fit its position.
#ifndef RINGSIDE_PLUGIN_JOURNAL_RING_IMAGE_H
#define RINGSIDE_PLUGIN_JOURNAL_RING_IMAGE_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "plugin/assemble/record_view.h"
#include "plugin/journal/journal_format.h"
#include "plugin/result/result.h"

namespace ringside::recover {

/// A record of a ring. Its member ts_ns holds ticks.
using RawRecord = assemble::RecordView;

struct RingImage {
  std::uint32_t index = 0;
  std::int32_t tid = 0;       ///< thread id of the last owner
  bool is_only_head = false;  ///< the records were not in the file, and ended with the process
  assemble::TypeCounts produced{}, filtered{}, dropped_ring_full{}, dropped_parent{}, stale{};
  std::vector<RawRecord> records;  ///< records that had not been taken out, oldest first
  std::uint64_t bad_records = 0;   ///< committed records that are not valid
};

/// Reads a ring's file. Fails with EBADMSG; the text continues a sentence about the file.
Result read_ring(std::span<const std::byte> file, RingImage& image);

assemble::RecordView view_of(const assemble::JournalEntry& entry, std::uint32_t ring,
                             std::int32_t tid);

/// True if kind, type and id of a record agree. An assembler must only get such records.
bool is_sound(const assemble::RecordView& record);

}  // namespace ringside::recover

#endif  // RINGSIDE_PLUGIN_JOURNAL_RING_IMAGE_H
