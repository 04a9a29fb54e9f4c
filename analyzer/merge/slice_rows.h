// SPDX-License-Identifier: Apache-2.0
//
// The rows of a process in a merged file: threads that no process has. The async slices of a trace
// are slices of these, so that a slice can have another name than its row, and the rows have
// an order. Slices of a thread must nest (docs/trace-format.md, "Merged files"): what overlaps goes
// to several rows of one name.
#ifndef RINGSIDE_ANALYZER_MERGE_SLICE_ROWS_H
#define RINGSIDE_ANALYZER_MERGE_SLICE_ROWS_H

#include <cstdint>
#include <functional>
#include <map>
#include <queue>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ringside::merge {

/// Above the greatest tid of Linux (2^22).
inline constexpr std::uint32_t kFirstRow = 10'000'000;

/// Viewers round times to a nanosecond or two: slices that shall not overlap are further apart.
inline constexpr std::int64_t kRounding_ns = 3;

class SliceRows {
 public:
  struct Row {
    std::uint32_t tid = 0;
    bool is_new = false;
  };
  /// Finds the row of this category and name that has room, or makes one. Categories are in the
  /// order in which they are shown: operations, then the GPU's, then the network's.
  Row place(std::string_view category, std::string_view name, std::int64_t begin_ns,
            std::int64_t end_ns);

 private:
  struct Lane {
    std::uint32_t tid = 0;
    std::vector<std::pair<std::int64_t, std::int64_t>> taken;  // the last ones: begin and end
    std::int64_t forgotten_ns = INT64_MIN;                     // all before it counts as taken
  };
  // Where more slices overlap, they go into rows of which only the last end is known.
  struct Lanes {
    static constexpr std::size_t kSearched = 64;
    std::vector<Lane> first;
    using EndAndTid = std::pair<std::int64_t, std::uint32_t>;
    std::priority_queue<EndAndTid, std::vector<EndAndTid>, std::greater<>> others;
  };
  static bool take(Lane& lane, std::int64_t begin_ns, std::int64_t end_ns);
  std::uint32_t new_tid(std::uint32_t order);

  // The lanes of each name, by category in the order of kOrder.
  std::map<std::uint32_t, std::map<std::string, Lanes, std::less<>>> lanes_;
  std::map<std::uint32_t, std::uint32_t> used_;  // tids, by order
};

}  // namespace ringside::merge

#endif  // RINGSIDE_ANALYZER_MERGE_SLICE_ROWS_H
