// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_ANALYZER_LOAD_PROCESS_ENDS_H
#define RINGSIDE_ANALYZER_LOAD_PROCESS_ENDS_H

#include "analyzer/model/trace.h"

namespace ringside::load {

/// Reads the files ringside-ends-*.jsonl that `ringside run` has left beside the traces, and says
/// of each process how it ended (TraceFile::end). Lines that cannot be read tell nothing.
void read_process_ends(model::Traces& traces);

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_PROCESS_ENDS_H
