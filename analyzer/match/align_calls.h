// SPDX-License-Identifier: Apache-2.0
//
// Which calls of one rank are which calls of another, where their sequence numbers cannot tell: by
// signature, order and time. What is not certain stays open.
#ifndef RINGSIDE_ANALYZER_MATCH_ALIGN_CALLS_H
#define RINGSIDE_ANALYZER_MATCH_ALIGN_CALLS_H

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace ringside::match {

/// One call of a rank. The ranks of one communicator make the same calls in the same order.
struct Call {
  std::int64_t position = 0;     // in that order, up to a shift that is not known
  std::uint64_t signature = 0;   // equal for the records of one call
  std::uint32_t operation = 0;   // the caller's
  std::int64_t enqueued_ns = 0;  // on the common clock, as are the others
  /// The execution, of a function in which no rank ends before the last has started; without
  /// limits where it was not seen.
  std::int64_t start_ns = std::numeric_limits<std::int64_t>::min();
  std::int64_t end_ns = std::numeric_limits<std::int64_t>::max();
};

/// Calls of one rank by position, among which differences of positions are true: what was lost has
/// left a gap (`is_exact`), or not.
struct Piece {
  std::span<const Call> calls;
  bool is_exact = false;
  bool at_start = false;  // its positions count from the first call of the communicator
  bool at_end = false;    // the rank made no call after the last one
};

/// How often each signature comes, of the piece that others are aligned to.
using SignatureCounts = std::unordered_map<std::uint64_t, std::uint32_t>;
SignatureCounts count_signatures(std::span<const Call> calls);

/// By how much the positions of `piece` are to be raised to be those of `reference`; both are
/// exact. Nothing if that is not certain. It is certain if both begin or both end with the
/// communicator; if time leaves one possibility (no rank ends a call before another has started it,
/// give or take `uncertainty_ns`), or one that agrees in all signatures; or if one agrees whose
/// signatures are so rare together (40 bits) that it is no chance, none other comes near, and the
/// calls were enqueued at about the same times. Time is linear in practice and bounded always.
std::optional<std::int64_t> find_shift(const Piece& reference, const SignatureCounts& counts,
                                       const Piece& piece, std::int64_t uncertainty_ns);

/// For each call of an inexact piece its position in an exact reference, or nothing: there only
/// where time and signature leave one possibility.
std::vector<std::optional<std::int64_t>> find_positions(const Piece& reference,
                                                        std::span<const Call> calls,
                                                        std::int64_t uncertainty_ns);

}  // namespace ringside::match

#endif  // RINGSIDE_ANALYZER_MATCH_ALIGN_CALLS_H
