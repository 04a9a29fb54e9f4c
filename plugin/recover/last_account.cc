// SPDX-License-Identifier: Apache-2.0
#include "plugin/recover/last_account.h"

#include <algorithm>

#include "plugin/journal/journal_format.h"

namespace ringside::recover {
namespace {

// Returns how many events were evicted. The replay may evict the same events as the process, so
// this is the greater count and not the sum.
assemble::TypeCounts given_up(const journal::JournalImage& journal, const Replayed& replayed) {
  assemble::TypeCounts made = replayed.given_up;
  for (std::size_t type = 0; type < made.size(); ++type) {
    made[type] = std::max(made[type], journal.checkpoint.given_up[type]);
  }
  return made;
}

}  // namespace

assemble::Account account_of(const journal::JournalImage& journal,
                             const std::vector<journal::RingImage>& rings,
                             const exporting::WriteCounts& added, const Replayed& replayed,
                             Outcome& outcome) {
  assemble::Account made;
  std::uint64_t missing = 0;
  for (std::size_t type = 0; type < record::kAccountTypes; ++type) {
    assemble::TypeAccount& of = made.by_type[type] = journal.checkpoint.by_type[type];
    for (const journal::RingImage& ring : rings) {
      of += ring.by_type[type];
    }
    of.written += added.written[type];
    of.merged += added.merged[type];
    of.dropped_write += added.dropped[type];
    const std::uint64_t known = of.placed();
    if (known > of.produced) {
      missing += known - of.produced;
      of.produced = known;
    }
    // A record that was counted as stale long before may still be in the journal.
    const std::uint64_t rest = of.produced - known;
    const std::uint64_t stale = std::min(rest, replayed.stale[type]);
    of.stale += stale;
    // If the process lives, it may still write what is left.
    (outcome.is_running ? of.in_rings : of.dropped_kill) += rest - stale;
    outcome.callbacks += of.produced;
    outcome.lost += of.dropped_kill;
  }
  if (missing != 0) {
    outcome.notes.push_back("the trace holds " + std::to_string(missing) +
                            " callbacks more than the rings count: a ring's file is missing");
  }
  made.given_up = given_up(journal, replayed);
  return made;
}

}  // namespace ringside::recover
