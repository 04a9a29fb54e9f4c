// SPDX-License-Identifier: Apache-2.0
#include "plugin/drain/trace_account.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "plugin/record/recorder.h"

namespace ringside::control {
namespace {

using record::kAccountTypes;

void add_losses_of_rings(std::size_t type, exporting::TypeAccount& of) {
  record::RingPool& pool = record::g_recorder.rings();
  for (std::uint32_t i = 0; i < pool.count(); ++i) {
    record::Ring* ring = pool.ring(i);
    if (ring == nullptr) {
      continue;
    }
    // Losses are loaded before `produced`, which includes them (see ProducerCounts::add).
    const auto load = [&](const auto& counters) {
      return counters[type].load(std::memory_order_acquire);
    };
    of.filtered += load(ring->counts.filtered);
    of.dropped_ring_full += load(ring->counts.dropped_ring_full);
    of.dropped_parent += load(ring->counts.dropped_parent);
    of.stale += load(ring->counts.stale);
    of.produced += load(ring->counts.produced);
  }
  of.dropped_no_ring = record::g_recorder.dropped_no_ring(static_cast<record::EventType>(type));
  of.produced += of.dropped_no_ring;
}

}  // namespace

exporting::Account TraceAccount::make(bool final) const {
  exporting::Account made;
  const exporting::WriteCounts& file = files_.counts();
  const exporting::WriteCounts& deleted = files_.deleted();
  const assemble::AssemblerCounts& counts = assembler_.counts();
  for (std::size_t type = 0; type < kAccountTypes; ++type) {
    exporting::TypeAccount& of = made.by_type[type];
    add_losses_of_rings(type, of);
    const std::uint64_t lost_at_producer =
        of.filtered + of.dropped_ring_full + of.dropped_parent + of.stale + of.dropped_no_ring;
    of.in_rings = of.produced - lost_at_producer - counts.consumed[type];
    of.stale += counts.stale[type];
    of.rotated = deleted.written[type] + deleted.merged[type];
    of.written = file.written[type] - deleted.written[type];
    of.merged = file.merged[type] - deleted.merged[type];
    of.dropped_write = file.dropped[type];
    of.dropped_memory = counts.dropped_memory[type] + file.dropped_memory[type];
    of.sampled_out = counts.sampled_out[type];
    const std::uint64_t placed = of.written + of.merged + of.rotated + of.dropped_write +
                                 of.sampled_out + counts.stale[type];
    // A record may count twice if memory was too short in the middle of it.
    of.dropped_memory = std::min(of.dropped_memory, counts.consumed[type] - placed);
    of.held = counts.consumed[type] - placed - of.dropped_memory;
    if (final && memory_was_short_) {
      of.dropped_memory += std::exchange(of.held, 0);
    }
  }
  made.given_up = counts.given_up;
  for (const ThreadCounts& thread : reader_.thread_counts()) {
    made.by_thread.push_back({thread.tid, thread.produced, thread.dropped});
  }
  return made;
}

std::uint64_t TraceAccount::consumed() const {
  const auto& consumed = assembler_.counts().consumed;
  return std::accumulate(consumed.begin(), consumed.end(), std::uint64_t{0});
}

void TraceAccount::count(assemble::Checkpoint& made) const {
  const exporting::WriteCounts& file = files_.counts();
  const exporting::WriteCounts& deleted = files_.deleted();
  const assemble::AssemblerCounts& counts = assembler_.counts();
  made.dropped_write = file.dropped;
  made.stale = counts.stale;
  made.sampled_out = counts.sampled_out;
  made.given_up = counts.given_up;
  made.early_produced = made.early_lost = {};
  record::RingPool& pool = record::g_recorder.rings();
  for (std::uint32_t i = 0; i < pool.count(); ++i) {
    const record::Ring* const ring = pool.ring(i);
    for (std::size_t type = 0; ring != nullptr && ring->is_early != 0 && type < kAccountTypes;
         ++type) {
      made.early_lost[type] += ring->counts.dropped_ring_full[type].load(std::memory_order_acquire);
      made.early_lost[type] += ring->counts.dropped_parent[type].load(std::memory_order_acquire);
      made.early_produced[type] += ring->counts.produced[type].load(std::memory_order_acquire);
    }
  }
  for (std::size_t type = 0; type < kAccountTypes; ++type) {
    made.written[type] = file.written[type] - deleted.written[type];
    made.merged[type] = file.merged[type] - deleted.merged[type];
    made.rotated[type] = deleted.written[type] + deleted.merged[type];
    made.dropped_memory[type] = counts.dropped_memory[type] + file.dropped_memory[type];
    made.dropped_no_ring[type] =
        record::g_recorder.dropped_no_ring(static_cast<record::EventType>(type));
  }
}

void TraceAccount::count(TraceFigures& figures) const {
  const exporting::WriteCounts& file = files_.counts();
  const exporting::WriteCounts& deleted = files_.deleted();
  const assemble::AssemblerCounts& counts = assembler_.counts();
  std::uint64_t lost = 0;
  std::uint64_t kept = 0;
  std::uint64_t rotated = 0;
  std::uint64_t given_up = 0;
  for (std::size_t type = 0; type < kAccountTypes; ++type) {
    lost += file.dropped[type] + file.dropped_memory[type] + counts.dropped_memory[type];
    kept += file.written[type] + file.merged[type] + counts.sampled_out[type] + counts.stale[type];
    rotated += deleted.written[type] + deleted.merged[type];
    given_up += counts.given_up[type];
  }
  figures.operations.store(assembler_.operations(), std::memory_order_relaxed);
  figures.bytes_written.store(files_.total_bytes(), std::memory_order_relaxed);
  figures.bytes_kept.store(files_.kept_bytes(), std::memory_order_relaxed);
  figures.rotated.store(rotated, std::memory_order_relaxed);
  figures.given_up.store(given_up, std::memory_order_relaxed);
  figures.lost.store(lost, std::memory_order_relaxed);
  figures.settled.store(kept + lost, std::memory_order_relaxed);
}

std::uint64_t TraceAccount::left(const TraceFigures& figures) {
  std::uint64_t taken = 0;
  for (std::size_t type = 0; type < kAccountTypes; ++type) {
    exporting::TypeAccount of;
    add_losses_of_rings(type, of);
    taken += of.produced - of.filtered - of.dropped_ring_full - of.dropped_parent - of.stale -
             of.dropped_no_ring;
  }
  const std::uint64_t settled = figures.settled.load(std::memory_order_relaxed);
  return taken - std::min(taken, settled);
}

exporting::TraceEnd TraceAccount::end_of_trace() const {
  exporting::TraceEnd made;
  made.count_lost(make(false));
  for (std::optional<std::uint64_t>* const lost : {&made.marks_lost, &made.ranges_lost}) {
    *lost = **lost != 0 ? *lost : std::nullopt;
  }
  return made;
}

}  // namespace ringside::control
