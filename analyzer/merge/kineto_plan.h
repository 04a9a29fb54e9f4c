// SPDX-License-Identifier: Apache-2.0
//
// Which of PyTorch's traces belongs to which process, and which of its kernels is which operation.
#ifndef RINGSIDE_ANALYZER_MERGE_KINETO_PLAN_H
#define RINGSIDE_ANALYZER_MERGE_KINETO_PLAN_H

#include <string>
#include <vector>

#include "analyzer/align/alignment.h"
#include "analyzer/merge/plan.h"
#include "analyzer/model/problem.h"
#include "analyzer/model/trace.h"

namespace ringside::merge {

/// Adds the traces at these paths to the plan, with an arrow from each kernel to its operation. A
/// trace belongs to the process of the same rank, or, if it says none, of the same pid where only
/// one has that. A file that cannot be read, or belongs to no process, is added to `problems`.
///
/// A kernel is an operation if both are of one function and, where both are known, of one size, if
/// they are under way together for at least half of the shorter one's time, by the clock that both
/// have in common, and if no other kernel has it already. Of several operations it is the one that
/// it shares the most time with; kernels of grouped sends and receives are all of theirs. Only
/// operations whose times come from the GPU or the network are asked.
void add_kineto(const model::Traces& traces, const align::Alignment& alignment,
                const std::vector<std::string>& paths, Plan& plan, model::Problems& problems);

}  // namespace ringside::merge

#endif  // RINGSIDE_ANALYZER_MERGE_KINETO_PLAN_H
