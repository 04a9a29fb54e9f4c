// SPDX-License-Identifier: Apache-2.0
//
// The account of callbacks: what became of each (docs/trace-format.md).
#ifndef RINGSIDE_PLUGIN_ASSEMBLE_ACCOUNT_H
#define RINGSIDE_PLUGIN_ASSEMBLE_ACCOUNT_H

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "plugin/record/event_type.h"
#include "plugin/record/ring.h"
#include "ringside/trace_schema.h"

namespace ringside::assemble {

using TypeCounts = std::array<std::uint64_t, record::kAccountTypes>;

/// The callbacks of one type. Each that is produced has one of the other fates.
struct TypeAccount {
  std::uint64_t produced = 0, written = 0, merged = 0, filtered = 0, stale = 0, held = 0;
  std::uint64_t rotated = 0;  ///< callbacks of lines in segments that were deleted
  std::uint64_t sampled_out = 0;
  std::uint64_t in_rings = 0;
  std::uint64_t dropped_ring_full = 0, dropped_no_ring = 0, dropped_parent = 0;
  std::uint64_t dropped_write = 0, dropped_memory = 0, dropped_kill = 0;

  TypeAccount& operator+=(const TypeAccount& other);
  std::uint64_t dropped() const {
    return dropped_ring_full + dropped_no_ring + dropped_parent + dropped_write + dropped_memory +
           dropped_kill;
  }
  /// The callbacks whose fate is known.
  std::uint64_t placed() const;
};

struct Fate {
  std::string_view name;
  std::uint64_t TypeAccount::*count;
};
inline constexpr std::array<Fate, 14> kFates = {
    {{"written", &TypeAccount::written},
     {"merged", &TypeAccount::merged},
     {"filtered", &TypeAccount::filtered},
     {"sampled_out", &TypeAccount::sampled_out},
     {"stale", &TypeAccount::stale},
     {schema::kReasonRotated, &TypeAccount::rotated},
     {"held", &TypeAccount::held},
     {"in_rings", &TypeAccount::in_rings},
     {"dropped_ring_full", &TypeAccount::dropped_ring_full},
     {"dropped_no_ring", &TypeAccount::dropped_no_ring},
     {"dropped_parent", &TypeAccount::dropped_parent},
     {"dropped_write", &TypeAccount::dropped_write},
     {"dropped_memory", &TypeAccount::dropped_memory},
     {"dropped_kill", &TypeAccount::dropped_kill}}};

inline TypeAccount& TypeAccount::operator+=(const TypeAccount& other) {
  produced += other.produced;
  for (const Fate& fate : kFates) {
    this->*fate.count += other.*fate.count;
  }
  return *this;
}
inline std::uint64_t TypeAccount::placed() const {
  std::uint64_t sum = 0;
  for (const Fate& fate : kFates) {
    sum += this->*fate.count;
  }
  return sum;
}

using TypeAccounts = std::array<TypeAccount, record::kAccountTypes>;

/// What the owners of a ring have counted themselves.
inline TypeAccount account_of(const record::Ring& ring, std::size_t type) {
  // Losses are loaded before `produced`, which includes them (see ProducerCounts::add).
  const auto load = [type](const auto& counters) {
    return counters[type].load(std::memory_order_acquire);
  };
  TypeAccount of;
  of.filtered = load(ring.counts.filtered);
  of.dropped_ring_full = load(ring.counts.dropped_ring_full);
  of.dropped_parent = load(ring.counts.dropped_parent);
  of.stale = load(ring.counts.stale);
  of.produced = load(ring.counts.produced);
  return of;
}

struct Account {
  TypeAccounts by_type{};
  /// Evicted events. Their callbacks are counted in by_type.
  TypeCounts given_up{};
};

}  // namespace ringside::assemble

#endif  // RINGSIDE_PLUGIN_ASSEMBLE_ACCOUNT_H
