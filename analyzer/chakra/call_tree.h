// SPDX-License-Identifier: Apache-2.0
//
// Which operator of the CPU another one is within, and which was under way at a moment.
#ifndef RINGSIDE_ANALYZER_CHAKRA_CALL_TREE_H
#define RINGSIDE_ANALYZER_CHAKRA_CALL_TREE_H

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "analyzer/model/kineto/kineto.h"

namespace ringside::chakra {

class CallTree {
 public:
  /// `calls` must outlive it.
  explicit CallTree(std::span<const model::KinetoCall> calls);

  /// All calls by start, and those around others first.
  const std::vector<std::uint32_t>& order() const { return order_; }
  /// The innermost call around a call.
  std::optional<std::uint32_t> parent(std::uint32_t call) const;
  /// The innermost call of a thread at a moment.
  std::optional<std::uint32_t> innermost(std::int64_t thread, std::int64_t at_ns) const;

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  std::span<const model::KinetoCall> calls_;
  std::vector<std::uint32_t> order_;
  std::vector<std::uint32_t> parents_;
  std::map<std::int64_t, std::vector<std::uint32_t>> threads_;  // in that order
};

}  // namespace ringside::chakra

#endif  // RINGSIDE_ANALYZER_CHAKRA_CALL_TREE_H
