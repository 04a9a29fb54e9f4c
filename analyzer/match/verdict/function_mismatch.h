// SPDX-License-Identifier: Apache-2.0
//
// Finds ranks that called different functions where they should have called the same one.
#ifndef RINGSIDE_ANALYZER_MATCH_VERDICT_FUNCTION_MISMATCH_H
#define RINGSIDE_ANALYZER_MATCH_VERDICT_FUNCTION_MISMATCH_H

#include <vector>

#include "analyzer/match/verdict/verdict.h"

namespace ringside::match {

/// Returns a judgement for each of Matches::operations. First, each operation is judged by itself.
/// Then the collectives of a communicator are compared by their place in the order of their rank's
/// collectives. Missing operations at the same place are a function mismatch. Once a rank has left
/// out a call, the places no longer agree, so operations after that are undecided instead of
/// mismatches.
/// `clock` compares times of different ranks. It gives the greatest number as the uncertainty where
/// that is not known.
std::vector<Judgement> judge_all(const model::Traces& traces, const Matches& matches,
                                 const CommonClock& clock);
/// The same by the hosts' own clocks.
std::vector<Judgement> judge_all(const model::Traces& traces, const Matches& matches);

/// False for all but the first operation of a finding. A function mismatch, and missing operations
/// that are linked because their number is not known, are one finding each.
bool is_first_of_its_place(const std::vector<Judgement>& judgements, std::size_t index);

}  // namespace ringside::match

#endif  // RINGSIDE_ANALYZER_MATCH_VERDICT_FUNCTION_MISMATCH_H
