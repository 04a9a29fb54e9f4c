// SPDX-License-Identifier: Apache-2.0
//
// Reads the executions of a few matched operations together. The operations of a rank lie side by
// side in memory, and those of another rank lie far away. So it takes less time to read them rank
// by rank than operation by operation.
#ifndef RINGSIDE_ANALYZER_MATCH_EXECUTIONS_H
#define RINGSIDE_ANALYZER_MATCH_EXECUTIONS_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "analyzer/match/matcher.h"
#include "analyzer/model/operation.h"
#include "analyzer/model/trace.h"

namespace ringside::match {

/// Returns the indices of operations from `first` on, up to `end` or the next `most` of them.
inline std::vector<std::uint32_t> portion_of(std::size_t first, std::size_t most, std::size_t end) {
  std::vector<std::uint32_t> indices(std::min(most, end - first));
  std::iota(indices.begin(), indices.end(), static_cast<std::uint32_t>(first));
  return indices;
}

/// Calls visit(i, part) for each part of the i-th of some operations, counted from 0, rank by rank.
/// The parts of an operation are visited in their order.
template <typename Visit>
void visit_rank_by_rank(const Matches& matches, std::span<const std::uint32_t> operations,
                        const Visit& visit) {
  bool has_more = true;
  for (std::size_t part = 0; has_more; ++part) {
    has_more = false;
    for (std::size_t i = 0; i < operations.size(); ++i) {
      if (part < matches.operations[operations[i]].part_count) {
        visit(i, part);
        has_more = true;
      }
    }
  }
}

class Executions {
 public:
  /// More than these at a time do not stay in a core's cache.
  static constexpr std::size_t kAtATime = 16;

  /// Reads those of all ranks. `operations` are indices into Matches::operations, of which those
  /// that follow each other in time are best read together.
  void read(const model::Traces& traces, const Matches& matches,
            std::span<const std::uint32_t> operations);

  /// The executions of the i-th of these, in the order of its parts.
  std::span<const model::Execution> of(std::size_t i) const {
    return std::span(executions_).subspan(first_[i], first_[i + 1] - first_[i]);
  }

 private:
  std::vector<model::Execution> executions_;
  std::vector<std::size_t> first_;  // of each operation, and where the last one ends
};

/// Calls take(i, executions) for each of the operations, some of which are read at a time. `memory`
/// is for that.
template <typename Take>
void read_executions(const model::Traces& traces, const Matches& matches,
                     std::span<const std::uint32_t> operations, Executions& memory,
                     const Take& take) {
  for (std::size_t first = 0; first < operations.size(); first += Executions::kAtATime) {
    const auto some =
        operations.subspan(first, std::min(Executions::kAtATime, operations.size() - first));
    memory.read(traces, matches, some);
    for (std::size_t i = 0; i < some.size(); ++i) {
      take(first + i, memory.of(i));
    }
  }
}

}  // namespace ringside::match

#endif  // RINGSIDE_ANALYZER_MATCH_EXECUTIONS_H
