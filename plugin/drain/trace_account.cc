// SPDX-License-Identifier: Apache-2.0
#include "plugin/drain/trace_account.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "plugin/record/recorder.h"

namespace ringside::drain {
namespace {

using assemble::TypeAccount;
using record::kAccountTypes;

// Returns what the callbacks' own threads have counted. `only_in_memory`: a kill ends the counters.
TypeAccount counted_by_threads(std::size_t type, bool only_in_memory = false) {
  TypeAccount of;
  record::RingPool& pool = record::g_recorder.rings();
  for (std::uint32_t i = 0; i < pool.count(); ++i) {
    const record::Ring* const ring = pool.ring(i);
    if (ring != nullptr && (!only_in_memory || ring->place == record::RingPlace::kMemory)) {
      of += assemble::account_of(*ring, type);
    }
  }
  const std::uint64_t without =
      record::g_recorder.dropped_no_ring(static_cast<record::EventType>(type));
  of.dropped_no_ring += without;
  of.produced += without;
  return of;
}

}  // namespace

// What became of the callbacks that were taken from the rings.
TypeAccount TraceAccount::taken(std::size_t type) const {
  const exporting::WriteCounts& file = files_.counts();
  const exporting::WriteCounts& deleted = files_.deleted();
  const assemble::AssemblerCounts& counts = assembler_.counts();
  TypeAccount of;
  of.written = file.written[type] - deleted.written[type];
  of.merged = file.merged[type] - deleted.merged[type];
  of.rotated = deleted.written[type] + deleted.merged[type];
  of.stale = counts.stale[type];
  of.sampled_out = counts.sampled_out[type];
  of.dropped_write = file.dropped[type];
  of.dropped_memory = counts.dropped_memory[type] + file.dropped_memory[type];
  return of;
}

assemble::Account TraceAccount::make(bool final) const {
  assemble::Account made;
  for (std::size_t type = 0; type < kAccountTypes; ++type) {
    const std::uint64_t consumed = assembler_.counts().consumed[type];
    const TypeAccount in_threads = counted_by_threads(type);
    TypeAccount& of = made.by_type[type] = taken(type);
    // A record may count twice if memory was too short in the middle of it, and so may a row.
    const std::uint64_t placed = of.placed() - of.dropped_memory;
    const std::uint64_t rest = consumed - std::min(consumed, placed);
    of.produced = placed - std::min(consumed, placed);
    of.dropped_memory = std::min(of.dropped_memory, rest);
    of.held = rest - of.dropped_memory;
    if (final && memory_was_short_) {
      of.dropped_memory += std::exchange(of.held, 0);
    }
    of += in_threads;
    of.in_rings = in_threads.produced - in_threads.placed() - consumed;
  }
  made.given_up = assembler_.counts().given_up;
  return made;
}

std::uint64_t TraceAccount::consumed() const {
  const auto& consumed = assembler_.counts().consumed;
  return std::accumulate(consumed.begin(), consumed.end(), std::uint64_t{0});
}

void TraceAccount::count(journal::Checkpoint& made) const {
  made.given_up = assembler_.counts().given_up;
  for (std::size_t type = 0; type < kAccountTypes; ++type) {
    made.by_type[type] = taken(type);
    made.by_type[type] += counted_by_threads(type, true);
  }
}

void TraceAccount::count(TraceFigures& figures) const {
  TypeAccount all;
  for (std::size_t type = 0; type < kAccountTypes; ++type) {
    all += taken(type);
  }
  const auto& given_up = assembler_.counts().given_up;
  figures.operations.store(assembler_.operations(), std::memory_order_relaxed);
  figures.bytes_written.store(files_.total_bytes(), std::memory_order_relaxed);
  figures.bytes_kept.store(files_.kept_bytes(), std::memory_order_relaxed);
  figures.rotated.store(all.rotated, std::memory_order_relaxed);
  figures.given_up.store(std::accumulate(given_up.begin(), given_up.end(), std::uint64_t{0}),
                         std::memory_order_relaxed);
  figures.lost.store(all.dropped(), std::memory_order_relaxed);
  figures.settled.store(all.placed(), std::memory_order_relaxed);
}

TypeAccount TraceAccount::of_threads() {
  TypeAccount all;
  for (std::size_t type = 0; type < kAccountTypes; ++type) {
    all += counted_by_threads(type);
  }
  return all;
}

std::uint64_t TraceAccount::left(const TraceFigures& figures) {
  const TypeAccount all = of_threads();
  const std::uint64_t given = all.produced - all.placed();
  return given - std::min(given, figures.settled.load(std::memory_order_relaxed));
}

exporting::TraceEnd TraceAccount::end_of_trace() const {
  exporting::TraceEnd made;
  made.count_lost(make(false));
  for (std::optional<std::uint64_t>* const lost : {&made.marks_lost, &made.ranges_lost}) {
    *lost = **lost != 0 ? *lost : std::nullopt;
  }
  return made;
}

}  // namespace ringside::drain
