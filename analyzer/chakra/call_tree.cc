// SPDX-License-Identifier: Apache-2.0
#include "analyzer/chakra/call_tree.h"

#include <algorithm>
#include <iterator>
#include <numeric>

namespace ringside::chakra {

CallTree::CallTree(std::span<const model::KinetoCall> calls)
    : calls_(calls), order_(calls.size()), parents_(calls.size(), kNone) {
  std::iota(order_.begin(), order_.end(), 0U);
  std::stable_sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
    return calls[a].start_ns != calls[b].start_ns ? calls[a].start_ns < calls[b].start_ns
                                                  : calls[a].end_ns > calls[b].end_ns;
  });
  for (const std::uint32_t call : order_) {
    std::vector<std::uint32_t>& thread = threads_[calls[call].thread];
    std::uint32_t around = thread.empty() ? kNone : thread.back();
    while (around != kNone && calls[around].end_ns <= calls[call].start_ns) {
      around = parents_[around];
    }
    parents_[call] = around;
    thread.push_back(call);
  }
}

std::optional<std::uint32_t> CallTree::parent(std::uint32_t call) const {
  return parents_[call] == kNone ? std::nullopt : std::optional(parents_[call]);
}

std::optional<std::uint32_t> CallTree::innermost(std::int64_t thread, std::int64_t at_ns) const {
  const auto own = threads_.find(thread);
  if (own == threads_.end()) {
    return std::nullopt;
  }
  const auto next = std::upper_bound(
      own->second.begin(), own->second.end(), at_ns,
      [&](std::int64_t time_ns, std::uint32_t call) { return time_ns < calls_[call].start_ns; });
  std::uint32_t around = next == own->second.begin() ? kNone : *std::prev(next);
  while (around != kNone && calls_[around].end_ns < at_ns) {
    around = parents_[around];
  }
  return around == kNone ? std::nullopt : std::optional(around);
}

}  // namespace ringside::chakra
