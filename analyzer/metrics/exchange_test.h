// SPDX-License-Identifier: Apache-2.0
//
// Tests whether one of several that are alike causes more waiting than chance makes one of them
// cause. Any of them could have changed places with the others in each block of time. So the
// charges of a block are handed round at random, each block for itself. The charge of the worst one
// is then made by chance. This needs no law of the charges: heavy tails are in the blocks, and so
// is dependence on earlier charges, if blocks are long enough. docs/derivations.md defines the
// test.
#ifndef RINGSIDE_ANALYZER_METRICS_EXCHANGE_TEST_H
#define RINGSIDE_ANALYZER_METRICS_EXCHANGE_TEST_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace ringside::metrics {

/// The charges of those that are alike in one block of time.
struct ExchangeBlock {
  struct Member {
    std::uint32_t subject = 0;
    double least = 0;
    double most = 0;
  };
  std::vector<Member> members;
};

/// The charge of a root in one block, and its charge if it had changed places with those that need
/// it (`mirrored`).
struct MirrorBlock {
  std::uint32_t subject = 0;
  double least = 0;
  double most = 0;
  double mirrored = 0;
};

struct ExchangeInput {
  std::uint32_t subjects = 0;  // all have smaller numbers
  std::vector<ExchangeBlock> blocks;
  std::vector<MirrorBlock> mirrors;
};

struct ExchangeResult {
  /// The one that is charged most beyond its share. Two, if one alone may be charged so by chance,
  /// and both together are not.
  std::vector<std::uint32_t> subjects;
  /// The one that is charged most after the first, if that is at least half as much and there are
  /// four or more.
  std::optional<std::uint32_t> second;
  /// The probability that chance charges somebody as much; not below what so many trials can tell.
  double chance = 1;
  double excess = 0;  // what these are charged beyond the mean of all, at least
};

/// Two together are tested at so much of a level, which is for one.
inline constexpr double kLevelOfTwo = 0.1;

/// Tests the worst of those that `is_eligible` names. `level`: a chance above this need not be
/// known exactly.
ExchangeResult test_exchange(const ExchangeInput& input, const std::vector<bool>& is_eligible,
                             double level);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_EXCHANGE_TEST_H
