// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_ANALYZER_LOAD_JOB_DUMPS_DUMP_TWINS_H
#define RINGSIDE_ANALYZER_LOAD_JOB_DUMPS_DUMP_TWINS_H

#include "analyzer/model/problem.h"
#include "analyzer/model/trace.h"

namespace ringside::load {

/// Leaves out, and tells, Flight Recorder dumps that cannot be what their names say:
/// - No two ranks make their calls in the same nanoseconds, so a dump whose calls have the times of
///   another rank's is a copy under a wrong name.
/// - If two dumps of one process tell different calls of the same record, one of them is damaged.
/// If only one of two such dumps shows damage, it is the wrong one; else nothing tells, and both
/// are left out.
void leave_out_dump_twins(model::Traces& traces, model::Problems& problems);

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_JOB_DUMPS_DUMP_TWINS_H
