// SPDX-License-Identifier: Apache-2.0
//
// The account of a process that died: the fate of each of its callbacks.
#ifndef RINGSIDE_PLUGIN_RECOVER_LAST_ACCOUNT_H
#define RINGSIDE_PLUGIN_RECOVER_LAST_ACCOUNT_H

#include <vector>

#include "plugin/assemble/account.h"
#include "plugin/export/lines/chrome_trace.h"
#include "plugin/export/trace_file.h"
#include "plugin/journal/journal_image.h"
#include "plugin/journal/ring_image.h"
#include "plugin/recover/recover.h"
#include "plugin/recover/replay.h"

namespace ringside::recover {

/// Makes the account of the recovered trace. `added` are the counts of the lines that recovery
/// wrote to it. Sets `callbacks` and `lost` of the outcome, and adds a note for each sum that does
/// not add up.
assemble::Account account_of(const journal::JournalImage& journal,
                             const std::vector<journal::RingImage>& rings,
                             const exporting::WriteCounts& added, const Replayed& replayed,
                             Outcome& outcome);

}  // namespace ringside::recover

#endif  // RINGSIDE_PLUGIN_RECOVER_LAST_ACCOUNT_H
