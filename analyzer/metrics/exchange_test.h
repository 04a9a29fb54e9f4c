// SPDX-License-Identifier: Apache-2.0
//
// Whether one of several that are alike causes more waiting than chance makes one of them cause.
// Whoever is alike could have changed places with the others in each block of time. So the charges
// of a block are handed round at random, each block for itself, and what the worst one has then is
// what chance makes. That needs no law of the charges: heavy tails are in the blocks, and what
// depends on what came before is too, if blocks are long enough. docs/derivations.md defines it.
#ifndef RINGSIDE_ANALYZER_METRICS_EXCHANGE_TEST_H
#define RINGSIDE_ANALYZER_METRICS_EXCHANGE_TEST_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace ringside::metrics {

/// What those that are alike are charged in one block of time.
struct ExchangeBlock {
  struct Member {
    std::uint32_t subject = 0;
    double least = 0;
    double most = 0;
  };
  std::vector<Member> members;
};

/// What a root was charged in one block, and what it would have been charged had it changed places
/// with those that need it.
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
  /// The one that is charged most beyond its share. Two, where one alone may be chance, and it is
  /// none that the two together are charged as much.
  std::vector<std::uint32_t> subjects;
  /// The one that is charged most after the first, if that is at least half as much and there are
  /// four or more.
  std::optional<std::uint32_t> second;
  /// The probability that chance charges somebody as much; not below what so many trials can tell.
  double chance = 1;
};

/// Two together are tested at so much of a level, which is for one.
inline constexpr double kLevelOfTwo = 0.1;

/// Tests the worst of those that `is_eligible` names. `level`: a chance above this need not be
/// known exactly.
ExchangeResult test_exchange(const ExchangeInput& input, const std::vector<bool>& is_eligible,
                             double level);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_EXCHANGE_TEST_H
