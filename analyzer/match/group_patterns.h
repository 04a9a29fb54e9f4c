// SPDX-License-Identifier: Apache-2.0
//
// Sends and receives that were called as a group are often a collective that NCCL has no name for.
#ifndef RINGSIDE_ANALYZER_MATCH_GROUP_PATTERNS_H
#define RINGSIDE_ANALYZER_MATCH_GROUP_PATTERNS_H

#include <cstdint>

#include "analyzer/match/matcher.h"

namespace ringside::match {

/// Replaces the pairs at the end of Matches::operations, which are those of communicator
/// `communicator` from index `first` on, by one operation (way kGroup) for each group that is a
/// pattern; the other pairs stay. A group is what the `group` of sends and receives ties together:
/// each rank calls all its part in one group, and each of its calls has its partner. Their order
/// within the group is free, except per pair of ranks.
void recognise_groups(const model::Traces& traces, std::uint32_t communicator, std::size_t first,
                      Matches& matches);

/// "AlltoAll", "AlltoAllv", "Gather", "Scatter", "SendRecv ring"; "" for none.
const char* pattern_name(Pattern pattern);

/// The message of a group as one rank gives or gets it: of AlltoAll, Gather and Scatter per peer,
/// of a ring what a rank sends, of AlltoAllv the mean over the ranks of what each sends to all
/// others. Nothing if a size is not known.
std::optional<std::uint64_t> group_bytes(const model::Traces& traces, const Matches& matches,
                                         const MatchedOperation& operation);

}  // namespace ringside::match

#endif  // RINGSIDE_ANALYZER_MATCH_GROUP_PATTERNS_H
