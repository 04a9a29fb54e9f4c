// SPDX-License-Identifier: Apache-2.0
//
// Reads the parts of a few matched operations together. The operations of a rank lie side by side
// in memory, and those of another rank lie far away. So it takes less time to read them rank by
// rank than operation by operation.
#ifndef RINGSIDE_ANALYZER_MATCH_EXECUTIONS_H
#define RINGSIDE_ANALYZER_MATCH_EXECUTIONS_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <numeric>
#include <span>
#include <type_traits>
#include <utility>
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

/// Reads one function of model::Operations for each part of a few operations, and the parts.
template <auto kRead>
class ReadParts {
 public:
  using Value = decltype((std::declval<const model::Operations&>().*kRead)(0));
  static_assert(std::is_trivially_destructible_v<Value>);

  /// More than these at a time do not stay in a core's cache.
  static constexpr std::size_t kAtATime = 16;

  /// Reads those of all ranks. `operations` are indices into Matches::operations, of which those
  /// that follow each other in time are best read together.
  void read(const model::Traces& traces, const Matches& matches,
            std::span<const std::uint32_t> operations) {
    first_.assign(1, 0);
    for (const std::uint32_t operation : operations) {
      first_.push_back(first_.back() + matches.operations[operation].part_count);
    }
    values_.resize(first_.back());
    parts_.resize(first_.back());
    visit_rank_by_rank(matches, operations, [&](std::size_t i, std::size_t number) {
      if (i == 0) {
        fetch_ahead(traces, matches, matches.operations[operations[0]], number);
      }
      Part& part = parts_[first_[i] + number];
      matches.parts.read(matches.operations[operations[i]].first_part + number, part);
      // It is made where it stays: copying what was written just now waits for that.
      new (&values_[first_[i] + number])
          Value((traces.files[part.file].operations.*kRead)(part.operation));
    });
  }

  /// The values of the i-th operation that was read, in the order of its parts.
  std::span<const Value> of(std::size_t i) const {
    return std::span(values_).subspan(first_[i], first_[i + 1] - first_[i]);
  }
  std::span<const Part> parts_of(std::size_t i) const {
    return std::span(parts_).subspan(first_[i], first_[i + 1] - first_[i]);
  }

 private:
  // Each rank is waited for otherwise: nothing of it is in a cache, and three of its places must be
  // read one after the other. Those of a few operations mostly lie side by side.
  static void fetch_ahead(const model::Traces& traces, const Matches& matches,
                          const MatchedOperation& operation, std::size_t number) {
    const auto fetch = [&](std::size_t ranks, const auto& begin) {
      if (number + ranks < operation.part_count) {
        const Part part = matches.parts[operation.first_part + number + ranks];
        begin(traces.files[part.file].operations, part.operation);
      }
    };
    fetch(6, [](const model::Operations& rank, std::size_t /*index*/) {
      __builtin_prefetch(&rank);
      __builtin_prefetch(reinterpret_cast<const std::byte*>(&rank) + 64);
    });
    fetch(4, [](const model::Operations& rank, std::size_t index) { rank.fetch_place(index); });
    fetch(2, [](const model::Operations& rank, std::size_t index) { rank.fetch_row(index); });
  }

  std::vector<Value> values_;
  std::vector<Part> parts_;
  std::vector<std::size_t> first_;  // of each operation, and where the last one ends
};

using Executions = ReadParts<&model::Operations::execution>;
using CallTimes = ReadParts<&model::Operations::call_time_ns>;

/// Calls take(i, parts, values) for each of the operations, some of which are read at a time.
/// `memory`, an Executions or a CallTimes, is for that.
template <typename Memory, typename Take>
void read_parts(const model::Traces& traces, const Matches& matches,
                std::span<const std::uint32_t> operations, Memory& memory, const Take& take) {
  for (std::size_t first = 0; first < operations.size(); first += Memory::kAtATime) {
    const auto some =
        operations.subspan(first, std::min(Memory::kAtATime, operations.size() - first));
    memory.read(traces, matches, some);
    for (std::size_t i = 0; i < some.size(); ++i) {
      take(first + i, memory.parts_of(i), memory.of(i));
    }
  }
}

}  // namespace ringside::match

#endif  // RINGSIDE_ANALYZER_MATCH_EXECUTIONS_H
