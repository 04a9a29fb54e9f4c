// SPDX-License-Identifier: Apache-2.0
//
// Things that run one after the other: the work of a stream, or the operations of a communicator.
#ifndef RINGSIDE_ANALYZER_CHAKRA_LANE_H
#define RINGSIDE_ANALYZER_CHAKRA_LANE_H

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "analyzer/chakra/schedule.h"

namespace ringside::chakra {

/// A piece that is to be added to a lane.
struct LaneEntry {
  std::optional<std::uint64_t> group;  // of calls made together: they do not wait for each other
  bool is_point_to_point = false;
  std::int64_t start_us = 0;
  std::int64_t end_us = 0;
};

class Lane {
 public:
  /// Adds to `dependencies` what is before the entry. Sends and receives that overlap are taken for
  /// calls made together where it is not known whether they were.
  void find_before(Schedule& schedule, const LaneEntry& entry,
                   std::vector<PieceIndex>& dependencies) {
    const bool is_in_group = entry.group && entry.group == last_.group;
    const bool overlaps = !entry.group && !last_.group && entry.is_point_to_point &&
                          last_.is_point_to_point && entry.start_us < last_.end_us;
    if (!tail_.empty() && !is_in_group && !overlaps) {
      before_ = std::exchange(tail_, {});
      join(schedule, before_);
      last_ = {};
    }
    dependencies.insert(dependencies.end(), before_.begin(), before_.end());
  }

  void add(PieceIndex piece, const LaneEntry& entry) {
    tail_.push_back(piece);
    const std::int64_t end_us =
        tail_.size() > 1 ? std::max(last_.end_us, entry.end_us) : entry.end_us;
    last_ = entry;
    last_.end_us = end_us;
  }

  /// The last pieces so far, which the next one follows.
  const std::vector<PieceIndex>& tail() const { return tail_.empty() ? before_ : tail_; }

 private:
  // Many that depend on each of many are one that depends on them all.
  static void join(Schedule& schedule, std::vector<PieceIndex>& pieces) {
    constexpr std::size_t kMost = 4;
    if (pieces.size() > kMost) {
      pieces = {schedule.join(std::move(pieces))};
    }
  }

  std::vector<PieceIndex> before_;
  std::vector<PieceIndex> tail_;
  LaneEntry last_;  // of the tail; its end is the last of all
};

}  // namespace ringside::chakra

#endif  // RINGSIDE_ANALYZER_CHAKRA_LANE_H
