// SPDX-License-Identifier: Apache-2.0
//
// The open ranges: for each event, the number that the tool gave to its range. The table has a
// fixed size and no lock, because NCCL's threads use it. An event may stop on another thread than
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
  /// An event's range is in one of this many neighbouring slots. If all of these are taken, there
  /// is no room for it, even if the table is not full.
  static constexpr std::size_t kProbes = 8;

  /// Stores what `begin` returns for the event. If there is no room, this does not call `begin` and
  /// returns false. No event may be put in twice.
  template <typename Begin>
  bool put(record::EventId id, Begin begin) noexcept {
    for (std::size_t probe = 0; probe < kProbes; ++probe) {
      Slot& slot = slot_at(id, probe);
      record::EventId expected = kFree;
      if (slot.key.load(std::memory_order_relaxed) == kFree &&
          slot.key.compare_exchange_strong(expected, kBeingFilled, std::memory_order_acquire,
                                           std::memory_order_relaxed)) {
        slot.range.store(begin(), std::memory_order_relaxed);
        // A thread that sees the key also sees the range.
        slot.key.store(id, std::memory_order_release);
        return true;
      }
    }
    return false;
  }

  /// Removes an event's range and returns it; nothing if the table does not have it. If several
  /// threads ask at once, one of them gets it.
  std::optional<std::uint64_t> take(record::EventId id) noexcept {
    for (std::size_t probe = 0; probe < kProbes; ++probe) {
      Slot& slot = slot_at(id, probe);
      record::EventId expected = id;
      if (slot.key.load(std::memory_order_acquire) != id) {
        continue;
      }
      const std::uint64_t range = slot.range.load(std::memory_order_relaxed);
      // No id is given to two events, so the range belongs to the key as long as the key is the
      // same.
      if (slot.key.compare_exchange_strong(expected, kFree, std::memory_order_acq_rel,
                                           std::memory_order_relaxed)) {
        return range;
      }
      return std::nullopt;
    }
    return std::nullopt;
  }

 private:
  // An event's id has a tag, so it is never one of these two.
  static constexpr record::EventId kFree = 0;
  static constexpr record::EventId kBeingFilled = 1;

  struct Slot {
    std::atomic<record::EventId> key{kFree};
    std::atomic<std::uint64_t> range{0};
  };

  Slot& slot_at(record::EventId id, std::size_t probe) noexcept {
    // Multiplying by the golden ratio puts the successive events of a thread far apart. Side by
    // side, they would fill all the slots that another thread's event may have.
    constexpr std::uint64_t kGoldenRatio = 0x9E3779B97F4A7C15U;
    static_assert(kSlots == std::size_t{1} << 16);
    return slots_[((id * kGoldenRatio >> 48) + probe) % kSlots];
  }

  std::array<Slot, kSlots> slots_{};
};

}  // namespace ringside::nvtx

#endif  // RINGSIDE_PLUGIN_NVTX_RANGE_TABLE_H
