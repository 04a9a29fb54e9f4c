// SPDX-License-Identifier: Apache-2.0
//
// What is in the file of a ring whose process has died. No field of the file is trusted: sizes are
// checked against the file, positions are bounded by the capacity, and a record counts only if its
// commit words are those of its place.
#ifndef RINGSIDE_PLUGIN_JOURNAL_RING_IMAGE_H
#define RINGSIDE_PLUGIN_JOURNAL_RING_IMAGE_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "plugin/assemble/record_view.h"
#include "plugin/journal/journal_format.h"

namespace ringside::recover {

/// A record as it lies in a ring: ts_ns of the view holds ticks.
using RawRecord = assemble::RecordView;

struct RingImage {
  std::uint32_t index = 0;
  std::int32_t tid = 0;  ///< of the last owner
  assemble::TypeCounts produced{}, filtered{}, dropped_ring_full{}, dropped_parent{}, stale{};
  std::vector<RawRecord> records;  ///< that had not been taken out, oldest first
  std::uint64_t bad_records = 0;   ///< committed, but not of a form that a ring can hold
};

/// Reads a ring's file. Empty if all is well, else what is wrong with the file.
std::string read_ring(std::span<const std::byte> file, RingImage& image);

/// The view of an entry or slot, without its Extra.
assemble::RecordView view_of(const assemble::JournalEntry& entry, std::uint32_t ring,
                             std::int32_t tid);

/// Whether kind, type and id of a record agree, so that an assembler may have it.
bool is_sound(const assemble::RecordView& record);

}  // namespace ringside::recover

#endif  // RINGSIDE_PLUGIN_JOURNAL_RING_IMAGE_H
