// SPDX-License-Identifier: Apache-2.0
//
// Ranks that called different functions where they should have called the same one.
#ifndef RINGSIDE_ANALYZER_MATCH_FUNCTION_MISMATCH_H
#define RINGSIDE_ANALYZER_MATCH_FUNCTION_MISMATCH_H

#include <vector>

#include "analyzer/match/verdict.h"

namespace ringside::match {

/// Finds missing collectives that are at the same place in the order of all collectives of their
/// ranks, and turns their verdict into "differs" in "function". `judgements` has one for each of
/// Matches::operations. Once a rank has left out a call the places no longer agree, and nothing is
/// claimed.
void find_function_mismatches(const model::Traces& traces, const Matches& matches,
                              std::vector<Judgement>& judgements);

}  // namespace ringside::match

#endif  // RINGSIDE_ANALYZER_MATCH_FUNCTION_MISMATCH_H
