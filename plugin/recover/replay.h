// SPDX-License-Identifier: Apache-2.0
//
// Assembles the events that a dead process had not written. The records of the journal and of the
// rings go through an assembler. Rows that the trace has already are skipped. Then it is known what
// became of each callback.
#ifndef RINGSIDE_PLUGIN_RECOVER_REPLAY_H
#define RINGSIDE_PLUGIN_RECOVER_REPLAY_H

#include <cstdint>
#include <vector>

#include "plugin/assemble/account.h"
#include "plugin/assemble/sink.h"
#include "plugin/export/trace_file.h"
#include "plugin/journal/images.h"
#include "plugin/recover/recover.h"

namespace ringside::recover {

struct Replayed {
  std::uint64_t operations = 0;     ///< operations that the trace did not have
  std::uint64_t in_flight = 0;      ///< operations among them that were not finished
  std::uint64_t records = 0;        ///< records that the assembler got
  assemble::TypeCounts given_up{};  ///< evicted events, as Assembler counts them
  assemble::TypeCounts stale{};     ///< stale records that the last checkpoint does not count
  std::int64_t death_ns = 0;        ///< the latest time in the journal and the rings
};

/// Passes the rows that the trace lacks to `sink`. Throws only std::bad_alloc.
Replayed replay(const journal::JournalImage& journal, const std::vector<journal::RingImage>& rings,
                assemble::Sink& sink);

/// Makes the account of the recovered trace. `added` are the counts of the lines that recovery
/// wrote to it. Sets `callbacks` and `lost` of the outcome, and adds a note for each sum that does
/// not add up.
assemble::Account account_of(const journal::JournalImage& journal,
                             const std::vector<journal::RingImage>& rings,
                             const exporting::WriteCounts& added, const Replayed& replayed,
                             Outcome& outcome);

}  // namespace ringside::recover

#endif  // RINGSIDE_PLUGIN_RECOVER_REPLAY_H
