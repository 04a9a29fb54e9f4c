// SPDX-License-Identifier: Apache-2.0
//
// A merged file has these beside the lines of its traces: what no rank could know of itself.
#ifndef RINGSIDE_ANALYZER_MERGE_ADDITIONS_H
#define RINGSIDE_ANALYZER_MERGE_ADDITIONS_H

#include "analyzer/facts/facts.h"
#include "analyzer/merge/plan.h"

namespace ringside::merge {

/// Finds what each rank surely waited for another, in every operation, and arrows: from the arrival
/// of the rank that all waited for to the ends on the others, and from a send to its receive.
/// Arrows lead forward in time only: what the clocks' uncertainty turns around has none. An
/// operation on which the ranks do not agree has neither. Sentences at the latest arrivals, and
/// where the ranks' records contradict each other.
void add_additions(const facts::Facts& facts, const PlanOptions& options, Plan& plan);

}  // namespace ringside::merge

#endif  // RINGSIDE_ANALYZER_MERGE_ADDITIONS_H
