// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_ANALYZER_LOAD_JOB_DUMPS_DUMP_PROCESSES_H
#define RINGSIDE_ANALYZER_LOAD_JOB_DUMPS_DUMP_PROCESSES_H

#include "analyzer/model/trace.h"

namespace ringside::load {

/// Tells the processes of a rank apart by its Flight Recorder dumps, which do not name them: as
/// where a directory has dumps of two jobs, or of a job that was started again. Dumps that begin
/// with record 0 at different times are of different processes; one whose ring has lost its begin
/// is taken to be of the last process that had begun by then. Files of the first keep their run id.
void separate_dump_processes(model::Traces& traces);

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_JOB_DUMPS_DUMP_PROCESSES_H
