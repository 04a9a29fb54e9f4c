// SPDX-License-Identifier: Apache-2.0
//
// The account of callbacks as the trace writes it; docs/trace-format.md says what each number
// counts.
#ifndef RINGSIDE_PLUGIN_EXPORT_ACCOUNT_H
#define RINGSIDE_PLUGIN_EXPORT_ACCOUNT_H

#include <array>
#include <cstdint>
#include <vector>

#include "plugin/record/event_type.h"

namespace ringside::exporting {

struct TypeAccount {
  std::uint64_t produced = 0, written = 0, merged = 0, filtered = 0, stale = 0, held = 0;
  std::uint64_t rotated = 0;  ///< callbacks of lines in segments that were deleted
  std::uint64_t sampled_out = 0;
  std::uint64_t in_rings = 0;
  std::uint64_t dropped_ring_full = 0, dropped_no_ring = 0, dropped_parent = 0;
  std::uint64_t dropped_write = 0, dropped_memory = 0, dropped_kill = 0;

  std::uint64_t dropped() const {
    return dropped_ring_full + dropped_no_ring + dropped_parent + dropped_write + dropped_memory +
           dropped_kill;
  }
};

struct ThreadAccount {
  std::int32_t tid = 0;  ///< 0: the sum of all threads that have ended
  std::uint64_t produced = 0, dropped = 0;
};

struct Account {
  std::array<TypeAccount, record::kAccountTypes> by_type{};
  std::vector<ThreadAccount> by_thread;
  /// Evicted events. Their callbacks are counted in by_type.
  std::array<std::uint64_t, record::kAccountTypes> given_up{};
};

}  // namespace ringside::exporting

#endif  // RINGSIDE_PLUGIN_EXPORT_ACCOUNT_H
