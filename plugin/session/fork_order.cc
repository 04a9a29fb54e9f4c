// SPDX-License-Identifier: Apache-2.0
#include "plugin/session/fork_order.h"

#include <atomic>
#include <cstdint>

namespace ringside::control {
namespace {

std::atomic<bool> g_used{false};
// One word, so that a child never finds half of an order. 0: there is none.
std::atomic<std::uint64_t> g_order{0};
constexpr std::uint64_t kOrdered = std::uint64_t{1} << 63;
constexpr std::uint64_t kOrderedStart = std::uint64_t{1} << 62;
constexpr std::uint64_t kOrderedDefault = std::uint64_t{1} << 61;

}  // namespace

void mark_as_used() noexcept {
  g_used.store(true, std::memory_order_release);
}

bool is_used() noexcept {
  return g_used.load(std::memory_order_acquire);
}

void remember_order(const RecordingOrder& order) noexcept {
  if (!is_used()) {
    g_order.store(kOrdered | (order.started ? kOrderedStart : 0) |
                      (order.choice.use_default ? kOrderedDefault : 0) | order.choice.types,
                  std::memory_order_relaxed);
  }
}

std::optional<RecordingOrder> remembered_order() noexcept {
  const std::uint64_t order = g_order.load(std::memory_order_relaxed);
  if (order == 0) {
    return std::nullopt;
  }
  return RecordingOrder{(order & kOrderedStart) != 0,
                        {(order & kOrderedDefault) != 0, static_cast<std::uint32_t>(order)}};
}

}  // namespace ringside::control
