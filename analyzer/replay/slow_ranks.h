// SPDX-License-Identifier: Apache-2.0
//
// Who slows a job, and by how much: the ranks that wait least are the ones that the others wait
// for, and a replay in which they are like the others says what they cost.
#ifndef RINGSIDE_ANALYZER_REPLAY_SLOW_RANKS_H
#define RINGSIDE_ANALYZER_REPLAY_SLOW_RANKS_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/replay/what_if.h"

namespace ringside::replay {

/// A cost, as a part of the wall time: the best estimate, and the range that the errors of the
/// replay leave.
struct Cost {
  double best = 0;
  double least = 0;
  double most = 0;
};

enum class Group : std::uint8_t { kRank, kHost, kRole, kSeveral };

/// Ranks that would save time together, if they were like the others.
struct Slow {
  Group group = Group::kRank;
  std::vector<std::uint32_t> ranks;  // indices into Job::ranks
  Cost cost;
  std::uint32_t iterations = 0;       // of the rank
  std::uint32_t slow_iterations = 0;  // of them, those in which it costs something
  std::uint32_t first_slow = 0;       // the first of these, counted from 0

  /// In one iteration only.
  bool is_once() const { return slow_iterations == 1 && iterations > 1; }
};

/// Less is not worth a name.
inline constexpr double kLeastCost = 0.02;
/// Nor is one whose range goes below this: the replay is not good enough to name somebody.
inline constexpr double kLeastSure = 0.01;

struct SlowRanks {
  /// The rank, host, role or ranks that cost most, by the fewest of them that explain it; nothing
  /// if nobody costs kLeastCost.
  std::optional<Slow> worst;
  /// The cost of work that moves from rank to rank. Nothing if somebody is the worst, or if it may
  /// be noise.
  std::optional<Cost> imbalance;
  /// By rank, what it costs by itself; nothing of ranks that wait too much to be asked about.
  std::vector<std::optional<Slow>> ranks;
  /// Somebody may cost that much, and so few iterations do not say what is usual.
  std::optional<std::uint32_t> unjudged_iterations;
  /// The rank that waits least has nobody to be compared with, as times of the network hide what
  /// roles do.
  bool hides_roles = false;
};

/// `waited_ns`: by rank.
SlowRanks find_slow(const Job& job, const std::vector<std::int64_t>& waited_ns, WhatIf& what_if);

}  // namespace ringside::replay

#endif  // RINGSIDE_ANALYZER_REPLAY_SLOW_RANKS_H
