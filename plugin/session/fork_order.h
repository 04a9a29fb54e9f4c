// SPDX-License-Identifier: Apache-2.0
//
// The child of a fork takes these over from its parent. It must not wait for a lock of the parent,
// so they are a few atomic words.
#ifndef RINGSIDE_PLUGIN_SESSION_FORK_ORDER_H
#define RINGSIDE_PLUGIN_SESSION_FORK_ORDER_H

#include <atomic>
#include <cstdint>
#include <optional>

#include "plugin/config/events.h"

namespace ringside::session {

/// The application's orders by the C API.
struct RecordingOrder {
  bool started;
  config::EventChoice choice;
};

/// This process, or one that it was forked from, has opened a communicator or begun to write. Its
/// children record nothing.
inline std::atomic<bool> g_is_used{false};

/// An order of before that, which holds for the children, too. One word, so that a child never
/// finds half of an order. 0: there is none.
inline std::atomic<std::uint64_t> g_order{0};
inline constexpr std::uint64_t kOrdered = std::uint64_t{1} << 63;
inline constexpr std::uint64_t kOrderedStart = std::uint64_t{1} << 62;
inline constexpr std::uint64_t kOrderedDefault = std::uint64_t{1} << 61;

inline void remember_order(const RecordingOrder& order) noexcept {
  if (!g_is_used.load(std::memory_order_relaxed)) {
    g_order.store(kOrdered | (order.started ? kOrderedStart : 0) |
                      (order.choice.use_default ? kOrderedDefault : 0) | order.choice.types,
                  std::memory_order_relaxed);
  }
}

inline std::optional<RecordingOrder> remembered_order() noexcept {
  const std::uint64_t order = g_order.load(std::memory_order_relaxed);
  if (order == 0) {
    return std::nullopt;
  }
  return RecordingOrder{(order & kOrderedStart) != 0,
                        {(order & kOrderedDefault) != 0, static_cast<std::uint32_t>(order)}};
}

}  // namespace ringside::session

#endif  // RINGSIDE_PLUGIN_SESSION_FORK_ORDER_H
