// SPDX-License-Identifier: Apache-2.0
//
// Ranks that called different functions where they should have called the same one.
#ifndef RINGSIDE_ANALYZER_MATCH_FUNCTION_MISMATCH_H
#define RINGSIDE_ANALYZER_MATCH_FUNCTION_MISMATCH_H

#include <vector>

#include "analyzer/match/verdict.h"

namespace ringside::match {

/// One judgement for each of Matches::operations: each compared by itself, then the collectives of
/// each communicator by their places in the order of all collectives of their ranks. Missing ones
/// at the same place are a function mismatch. Once a rank has left out a call the places no longer
/// agree: from there on no mismatch is claimed, it is undecided.
std::vector<Judgement> judge_all(const model::Traces& traces, const Matches& matches);

/// False for all but the first of the operations of one function mismatch, and of missing ones
/// whose numbers are not known: these are one finding.
bool is_first_of_its_place(const std::vector<Judgement>& judgements, std::size_t index);

}  // namespace ringside::match

#endif  // RINGSIDE_ANALYZER_MATCH_FUNCTION_MISMATCH_H
