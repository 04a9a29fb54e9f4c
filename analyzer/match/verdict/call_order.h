// SPDX-License-Identifier: Apache-2.0
//
// Finds ranks that made the same calls in another order. NCCL numbers the calls of each function
// by themselves, so equal numbers do not show that the order was equal.
#ifndef RINGSIDE_ANALYZER_MATCH_VERDICT_CALL_ORDER_H
#define RINGSIDE_ANALYZER_MATCH_VERDICT_CALL_ORDER_H

#include <cstddef>
#include <vector>

#include "analyzer/match/verdict/signed_calls.h"

namespace ringside::match {

/// False if all members surely made the calls of operations [first, last) in one order. The
/// operations must be all operations of one communicator. Takes no memory for each call, because
/// nearly all communicators need no more than this. `is_strict`: calls that judge_order() does not
/// compare may differ, too, and so may the order within a group.
bool may_differ_in_order(const model::Traces& traces, const Matches& matches, std::size_t first,
                         std::size_t last, bool is_strict);

/// Judges calls that members made in different orders as function mismatches. Each stretch of
/// calls in another order is one finding, which names the calls at its first place. Returns false
/// if there is no such stretch. Only operations that all members recorded are compared, and only
/// while their numbers or their order are certain: none that is aligned, and none of a CUDA graph.
/// The calls of one group have no order, because NCCL chooses it.
bool judge_order(const Matches& matches, const SignedCalls& calls,
                 std::vector<Judgement>& judgements);

}  // namespace ringside::match

#endif  // RINGSIDE_ANALYZER_MATCH_VERDICT_CALL_ORDER_H
