// SPDX-License-Identifier: Apache-2.0
//
// Loads traces into the model.
#ifndef RINGSIDE_ANALYZER_LOAD_TRACE_LOADER_H
#define RINGSIDE_ANALYZER_LOAD_TRACE_LOADER_H

#include <string>
#include <vector>

#include "analyzer/model/problem.h"
#include "analyzer/model/trace.h"

namespace ringside::load {

/// Loads one file and appends it to `traces`. A bad line is added to `problems` and left out; a
/// file that cannot be opened, or does not begin as a trace, is added to `problems` as a whole.
void load_trace(const std::string& path, model::Traces& traces, model::Problems& problems);

/// Loads all files, in the order given, and puts together the segments of one process.
model::Traces load_traces(const std::vector<std::string>& paths, model::Problems& problems);

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_TRACE_LOADER_H
