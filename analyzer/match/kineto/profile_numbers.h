// SPDX-License-Identifier: Apache-2.0
//
// Which calls of profiled ranks are one operation.
#ifndef RINGSIDE_ANALYZER_MATCH_KINETO_PROFILE_NUMBERS_H
#define RINGSIDE_ANALYZER_MATCH_KINETO_PROFILE_NUMBERS_H

#include "analyzer/model/trace.h"

namespace ringside::match {

/// Numbers the collectives of traces made of profiles, once all are there. PyTorch's numbers
/// (`Seq`, of 2026 on) are taken where each call has one of its own. Else a rank's calls in a
/// communicator are counted from the first profiler step that all of its ranks have. Where there
/// are no steps, they are counted from the last rank's first call, if one clock shows what the
/// others had ended by then; else from each rank's first call, if all made as many. They stay
/// without numbers where none of that is there, or calls with equal numbers cannot be one
/// operation.
void number_profiled_calls(model::Traces& traces);

}  // namespace ringside::match

#endif  // RINGSIDE_ANALYZER_MATCH_KINETO_PROFILE_NUMBERS_H
