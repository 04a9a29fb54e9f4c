// SPDX-License-Identifier: Apache-2.0
#include "plugin/recover/last_account.h"

#include <algorithm>

#include "plugin/journal/journal_format.h"

namespace ringside::recover {
namespace {

// Returns how many events were evicted. The replay may evict the same events as the process, so
// this is the greater count and not the sum.
assemble::TypeCounts given_up(const JournalImage& journal, const Replayed& replayed) {
  assemble::TypeCounts made = replayed.given_up;
  for (std::size_t type = 0; type < made.size(); ++type) {
    made[type] = std::max(made[type], journal.checkpoint.given_up[type]);
  }
  return made;
}

}  // namespace

exporting::Account account_of(const JournalImage& journal, const std::vector<RingImage>& rings,
                              const exporting::WriteCounts& added, const Replayed& replayed,
                              Outcome& outcome) {
  exporting::Account made;
  std::uint64_t missing = 0;
  for (std::size_t type = 0; type < record::kAccountTypes; ++type) {
    exporting::TypeAccount& of = made.by_type[type];
    const assemble::Checkpoint& before = journal.checkpoint;
    for (const RingImage& ring : rings) {
      of.produced += ring.produced[type];
      of.filtered += ring.filtered[type];
      of.dropped_ring_full += ring.dropped_ring_full[type];
      of.dropped_parent += ring.dropped_parent[type];
      of.stale += ring.stale[type];
    }
    of.dropped_no_ring = before.dropped_no_ring[type];
    of.produced += of.dropped_no_ring + before.early_produced[type];
    of.dropped_ring_full += before.early_lost[type];
    of.stale += before.stale[type];
    of.written = before.written[type] + added.written[type];
    of.merged = before.merged[type] + added.merged[type];
    of.dropped_write = before.dropped_write[type] + added.dropped[type];
    of.dropped_memory = before.dropped_memory[type];
    of.rotated = before.rotated[type];
    of.sampled_out = before.sampled_out[type];
    const std::uint64_t known = of.rotated + of.written + of.merged + of.filtered + of.sampled_out +
                                of.stale + of.dropped();
    if (known > of.produced) {
      missing += known - of.produced;
      of.produced = known;
    }
    // A record that was counted as stale long before may still be in the journal.
    const std::uint64_t rest = of.produced - known;
    const std::uint64_t stale = std::min(rest, replayed.stale[type]);
    of.stale += stale;
    // If the process lives, it may still write what is left.
    (outcome.is_running ? of.in_rings : of.dropped_kill) = rest - stale;
    outcome.callbacks += of.produced;
    outcome.lost += of.dropped_kill;
  }
  if (missing != 0) {
    outcome.notes.push_back("the trace holds " + std::to_string(missing) +
                            " callbacks more than the rings count: a ring's file is missing");
  }
  for (const RingImage& ring : rings) {
    exporting::ThreadAccount of{ring.tid, 0, 0};
    for (std::size_t type = 0; type < record::kAccountTypes; ++type) {
      of.produced += ring.produced[type];
      of.dropped += ring.dropped_ring_full[type] + ring.dropped_parent[type];
    }
    if (of.produced != 0) {
      made.by_thread.push_back(of);
    }
  }
  made.given_up = given_up(journal, replayed);
  return made;
}

}  // namespace ringside::recover
