// SPDX-License-Identifier: Apache-2.0
//
// Recognises groups of sends and receives that are a collective for which NCCL has no function.
#ifndef RINGSIDE_ANALYZER_MATCH_GROUP_PATTERNS_H
#define RINGSIDE_ANALYZER_MATCH_GROUP_PATTERNS_H

#include <cstdint>

#include "analyzer/match/matcher.h"

namespace ringside::match {

/// Replaces the pairs of communicator `communicator`, which are the operations from index `first`
/// on, by one operation (way kGroup) for each group that is a pattern. The other pairs stay. A
/// group consists of the sends and receives that their `group` connects: each rank makes all its
/// calls in one group call, and each call has its partner. The order of calls within the group is
/// free, except between the same two ranks.
void recognise_groups(const model::Traces& traces, std::uint32_t communicator, std::size_t first,
                      Matches& matches);

/// Returns "AlltoAll", "AlltoAllv", "Gather", "Scatter" or "SendRecv ring"; "" for kNone.
const char* pattern_name(Pattern pattern);

/// Returns the message size of a group for one rank: per peer for AlltoAll, Gather and Scatter; the
/// bytes that a rank sends for a ring; the mean over the ranks of the bytes sent to all others for
/// AlltoAllv. Returns nothing if a size is not known.
std::optional<std::uint64_t> group_bytes(const model::Traces& traces, const Matches& matches,
                                         const MatchedOperation& operation);

}  // namespace ringside::match

#endif  // RINGSIDE_ANALYZER_MATCH_GROUP_PATTERNS_H
