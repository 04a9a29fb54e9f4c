// SPDX-License-Identifier: Apache-2.0
//
// The calls of each rank in their order, identified by their arguments and not by numbers.
#ifndef RINGSIDE_ANALYZER_MATCH_VERDICT_SIGNED_CALLS_H
#define RINGSIDE_ANALYZER_MATCH_VERDICT_SIGNED_CALLS_H

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyzer/match/verdict/verdict.h"

namespace ringside::match {

struct SignedCall {
  std::size_t operation = 0;    // index into Matches::operations
  std::uint64_t group = 0;      // 0: no group, or not known
  std::uint32_t part = 0;       // index into TraceFile::operations
  std::uint32_t signature = 0;  // equal for equal function, datatype, bytes and root
  bool has_order = false;       // its time is that of a call, and not of the replay of a graph
};

/// By member, and in the order of its calls.
using SignedCalls = std::vector<std::vector<SignedCall>>;

/// Returns the collectives of each member, in the order in which it called them. The calls of one
/// group have no order of their own: groups of the same functions have the same order on all
/// members. Operations [first, last) must be all operations of one communicator.
SignedCalls calls_by_member(const model::Traces& traces, const Matches& matches, std::size_t first,
                            std::size_t last);

/// Withdraws mismatches after this place, where the ranks called different operations and it is not
/// clear which ones correspond. From there on, equal numbers no longer mean equal calls.
void withdraw_from(std::size_t place, const SignedCalls& calls, std::vector<Judgement>& judgements);

}  // namespace ringside::match

#endif  // RINGSIDE_ANALYZER_MATCH_VERDICT_SIGNED_CALLS_H
