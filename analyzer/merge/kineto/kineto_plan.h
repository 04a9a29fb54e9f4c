// SPDX-License-Identifier: Apache-2.0
//
// Finds the process that each of PyTorch's traces belongs to, and the operation that each of its
// kernels is.
#ifndef RINGSIDE_ANALYZER_MERGE_KINETO_KINETO_PLAN_H
#define RINGSIDE_ANALYZER_MERGE_KINETO_KINETO_PLAN_H

#include <vector>

#include "analyzer/align/alignment.h"
#include "analyzer/match/kineto/kineto_join.h"
#include "analyzer/merge/plan.h"
#include "analyzer/model/problem.h"
#include "analyzer/model/trace.h"

namespace ringside::merge {

/// Adds the traces that were joined to the plan, with an arrow from each kernel to its operation. A
/// file that can no longer be read is added to `problems`.
///
/// A kernel is an operation if both are of one function and, where both are known, of one size, if
/// they are under way together for at least half of the shorter one's time, by the clock that both
/// have in common, and if no other kernel has it already. If several operations fit, the one that
/// shares the most time with the kernel is chosen; a kernel of grouped sends and receives is all of
/// them. Only operations whose times come from the GPU or the network count.
void add_kineto(const model::Traces& traces, const align::Alignment& alignment,
                const std::vector<match::KinetoFileJoin>& profiles, Plan& plan,
                model::Problems& problems);

}  // namespace ringside::merge

#endif  // RINGSIDE_ANALYZER_MERGE_KINETO_KINETO_PLAN_H
