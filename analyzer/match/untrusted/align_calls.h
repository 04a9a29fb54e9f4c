// SPDX-License-Identifier: Apache-2.0
//
// Finds which call of one rank is which call of another where sequence numbers cannot be used.
// Signature, order and time decide. Calls that are not certain stay unaligned.
#ifndef RINGSIDE_ANALYZER_MATCH_UNTRUSTED_ALIGN_CALLS_H
#define RINGSIDE_ANALYZER_MATCH_UNTRUSTED_ALIGN_CALLS_H

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace ringside::match {

/// One call of a rank. The ranks of one communicator make the same calls in the same order.
struct Call {
  std::int64_t position = 0;     // index in that order, plus an unknown shift
  std::uint64_t signature = 0;   // equal in all records of one call
  std::uint32_t operation = 0;   // number of the caller's choice
  std::int64_t enqueued_ns = 0;  // on the common clock, like the other times
  /// The execution, if it was seen and if no rank can end the function before the last has started.
  /// Else without limits.
  std::int64_t start_ns = std::numeric_limits<std::int64_t>::min();
  std::int64_t end_ns = std::numeric_limits<std::int64_t>::max();
};

/// A piece of one rank's calls, sorted by position. If `is_exact`, lost calls have left gaps, so
/// differences of positions are right. Else there are no gaps.
struct Piece {
  std::span<const Call> calls;
  bool is_exact = false;
  bool at_start = false;  // positions count from the communicator's first call
  bool at_end = false;    // the rank's last call is the last one here
};

/// How often each signature occurs in the reference, the piece to which others are aligned.
using SignatureCounts = std::unordered_map<std::uint64_t, std::uint32_t>;
SignatureCounts count_signatures(std::span<const Call> calls);

/// Returns the shift to add to the positions of `piece` to make them positions of `reference`, or
/// nothing if it is not certain. Both must be exact. The shift is certain if both begin or both end
/// with the communicator. It is certain if time leaves one shift, or one with equal signatures (no
/// rank ends a call before another has started it, within `uncertainty_ns`). It is also certain if
/// the equal signatures are too rare (40 bits) for a coincidence, no other shift comes near, and
/// the calls were enqueued at about the same times. The run time is linear in practice and always
/// bounded.
std::optional<std::int64_t> find_shift(const Piece& reference, const SignatureCounts& counts,
                                       const Piece& piece, std::int64_t uncertainty_ns);

/// Returns, for each call of an inexact piece, its position in an exact reference if time and
/// signature leave only one.
std::vector<std::optional<std::int64_t>> find_positions(const Piece& reference,
                                                        std::span<const Call> calls,
                                                        std::int64_t uncertainty_ns);

}  // namespace ringside::match

#endif  // RINGSIDE_ANALYZER_MATCH_UNTRUSTED_ALIGN_CALLS_H
