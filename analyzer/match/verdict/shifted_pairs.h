// SPDX-License-Identifier: Apache-2.0
//
// Finds sends and receives that a rank left out, or that name another peer. Pairs are made by
// order, so that each call after such a one is paired with its neighbour, and looks as if the sizes
// did not agree.
#ifndef RINGSIDE_ANALYZER_MATCH_VERDICT_SHIFTED_PAIRS_H
#define RINGSIDE_ANALYZER_MATCH_VERDICT_SHIFTED_PAIRS_H

#include <cstddef>
#include <vector>

#include "analyzer/match/verdict/verdict.h"

namespace ringside::match {

/// Looks at all pairs of one source and destination together, where one side surely made fewer
/// calls and sizes disagree. If the side's sizes are those of the other one without as many calls,
/// these calls are missing, and what disagreed behind the first of them is undecided. It is also
/// undecided where that side made a call that no other rank answers; if the sizes agree with it in
/// its place, it names another peer than the rank that waits for it, and that is said. Operations
/// [first, last) must be all operations of one communicator.
void explain_shifted_pairs(const model::Traces& traces, const Matches& matches, std::size_t first,
                           std::size_t last, std::vector<Judgement>& judgements);

}  // namespace ringside::match

#endif  // RINGSIDE_ANALYZER_MATCH_VERDICT_SHIFTED_PAIRS_H
