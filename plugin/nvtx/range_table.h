// SPDX-License-Identifier: Apache-2.0
//
// The ranges that are open: what the tool calls each, by the event that it belongs to. Of fixed
// size and without locks, because NCCL's threads use it: an event may stop on another thread than
// the one that started it, and a stop may come twice.
#ifndef RINGSIDE_PLUGIN_NVTX_RANGE_TABLE_H
#define RINGSIDE_PLUGIN_NVTX_RANGE_TABLE_H

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "plugin/record/handle.h"

namespace ringside::nvtx {

class RangeTable {
 public:
  static constexpr std::size_t kSlots = 1U << 16;
  /// An event's range is in one of so many slots in a row. If they are all taken there is no room,
  /// even if the table is not full.
  static constexpr std::size_t kProbes = 8;

  /// Keeps what `begin` returns, until it is taken. If there is no room `begin` is not called, and
  /// the answer is false. No event may be put in twice.
  template <typename Begin>
  bool put(record::EventId id, Begin begin) noexcept {
    for (std::size_t probe = 0; probe < kProbes; ++probe) {
      Slot& slot = slot_at(id, probe);
      record::EventId expected = kFree;
      if (slot.key.load(std::memory_order_relaxed) == kFree &&
          slot.key.compare_exchange_strong(expected, kBeingFilled, std::memory_order_acquire,
                                           std::memory_order_relaxed)) {
        slot.range.store(begin(), std::memory_order_relaxed);
        // The range comes before its key, whoever sees it.
        slot.key.store(id, std::memory_order_release);
        return true;
      }
    }
    return false;
  }

  /// Takes an event's range out; nothing if it is not in. Of several that ask at once one gets it.
  std::optional<std::uint64_t> take(record::EventId id) noexcept {
    for (std::size_t probe = 0; probe < kProbes; ++probe) {
      Slot& slot = slot_at(id, probe);
      record::EventId expected = id;
      if (slot.key.load(std::memory_order_acquire) != id) {
        continue;
      }
      const std::uint64_t range = slot.range.load(std::memory_order_relaxed);
      // Ids are not given out twice, so a key that is still the same has had the same range.
      if (slot.key.compare_exchange_strong(expected, kFree, std::memory_order_acq_rel,
                                           std::memory_order_relaxed)) {
        return range;
      }
      return std::nullopt;
    }
    return std::nullopt;
  }

 private:
  // An event's id has a tag, so it is neither.
  static constexpr record::EventId kFree = 0;
  static constexpr record::EventId kBeingFilled = 1;

  struct Slot {
    std::atomic<record::EventId> key{kFree};
    std::atomic<std::uint64_t> range{0};
  };

  Slot& slot_at(record::EventId id, std::size_t probe) noexcept {
    // By the golden ratio: events of a thread, which are open in a row, lie far apart. Side by side
    // they would be a wall to another thread whose places come by.
    constexpr std::uint64_t kGoldenRatio = 0x9E3779B97F4A7C15U;
    static_assert(kSlots == std::size_t{1} << 16);
    return slots_[((id * kGoldenRatio >> 48) + probe) % kSlots];
  }

  std::array<Slot, kSlots> slots_{};
};

}  // namespace ringside::nvtx

#endif  // RINGSIDE_PLUGIN_NVTX_RANGE_TABLE_H
