// SPDX-License-Identifier: Apache-2.0
//
// Finds the process that each of PyTorch's traces belongs to, and the operation that each of its
// kernels is.
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
/// have in common, and if no other kernel has it already. If several operations fit, the one that
/// shares the most time with the kernel is chosen; a kernel of grouped sends and receives is all of
/// them. Only operations whose times come from the GPU or the network count.
void add_kineto(const model::Traces& traces, const align::Alignment& alignment,
                const std::vector<std::string>& paths, Plan& plan, model::Problems& problems);

}  // namespace ringside::merge

#endif  // RINGSIDE_ANALYZER_MERGE_KINETO_PLAN_H
