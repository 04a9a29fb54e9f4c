// SPDX-License-Identifier: Apache-2.0
//
// Assembles again what a dead process had not written: the journal's records and the rings' rest go
// through an assembler, and rows that the trace has already are left out.
#ifndef RINGSIDE_PLUGIN_RECOVER_REPLAY_H
#define RINGSIDE_PLUGIN_RECOVER_REPLAY_H

#include <cstdint>
#include <vector>

#include "plugin/assemble/sink.h"
#include "plugin/journal/journal_image.h"
#include "plugin/journal/ring_image.h"

namespace ringside::recover {

struct Replayed {
  std::uint64_t operations = 0;  ///< that the trace did not have
  std::uint64_t in_flight = 0;   ///< of those
  std::uint64_t records = 0;     ///< that were taken
  std::uint64_t next_operation = 1;
  assemble::TypeCounts given_up{};  ///< events, as Assembler counts them
  std::int64_t death_ns = 0;        ///< the last sign of life
};

/// Hands what the trace lacks to `sink`. Throws only std::bad_alloc.
Replayed replay(const JournalImage& journal, const std::vector<RingImage>& rings,
                assemble::Sink& sink);

}  // namespace ringside::recover

#endif  // RINGSIDE_PLUGIN_RECOVER_REPLAY_H
