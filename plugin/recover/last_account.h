// SPDX-License-Identifier: Apache-2.0
//
// What became of all that a process recorded, when it has died.
#ifndef RINGSIDE_PLUGIN_RECOVER_LAST_ACCOUNT_H
#define RINGSIDE_PLUGIN_RECOVER_LAST_ACCOUNT_H

#include <vector>

#include "plugin/export/account.h"
#include "plugin/export/chrome_trace.h"
#include "plugin/export/trace_file.h"
#include "plugin/journal/journal_image.h"
#include "plugin/journal/ring_image.h"
#include "plugin/recover/recover.h"
#include "plugin/recover/replay.h"

namespace ringside::recover {

/// The account of the recovered trace, to whose file `added` was written. Sets callbacks and lost
/// of the outcome, and notes what does not add up.
exporting::Account account_of(const JournalImage& journal, const std::vector<RingImage>& rings,
                              const exporting::WriteCounts& added, const Replayed& replayed,
                              Outcome& outcome);

/// How many marks and ranges of the application are in no file, if the journal knows it. They are
/// not in the journal themselves: what had not come to the trace is lost with the process, or, of
/// one that lives, on its way.
void add_losses(const JournalImage& journal, Outcome& outcome, exporting::TraceEnd& end);

}  // namespace ringside::recover

#endif  // RINGSIDE_PLUGIN_RECOVER_LAST_ACCOUNT_H
