// SPDX-License-Identifier: Apache-2.0
//
// What a merged file has beside the lines of its traces: what no rank could know of itself.
#ifndef RINGSIDE_ANALYZER_MERGE_ADDITIONS_H
#define RINGSIDE_ANALYZER_MERGE_ADDITIONS_H

#include <vector>

#include "analyzer/match/verdict.h"
#include "analyzer/merge/plan.h"

namespace ringside::merge {

/// Of collectives in which nobody ends before all have started, and which all ranks recorded: how
/// long each rank waited, where that is more than the clocks leave open, and, where one rank surely
/// came last, arrows from its arrival to the ends on the others. Of sends: an arrow to the receive.
/// Arrows lead forward in time only: what the clocks' uncertainty turns around has none. An
/// operation on which the ranks do not agree has neither. `judgements` are those of judge_all.
void add_waits_and_arrows(const model::Traces& traces, const match::Matches& matches,
                          const align::Alignment& alignment,
                          const std::vector<match::Judgement>& judgements,
                          const PlanOptions& options, Plan& plan);

/// Sentences at the latest arrivals, and where the ranks' records contradict each other.
void add_marks(const model::Traces& traces, const match::Matches& matches,
               const align::Alignment& alignment, const std::vector<match::Judgement>& judgements,
               const PlanOptions& options, Plan& plan);

}  // namespace ringside::merge

#endif  // RINGSIDE_ANALYZER_MERGE_ADDITIONS_H
