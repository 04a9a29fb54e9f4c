// SPDX-License-Identifier: Apache-2.0
//
// A dump repeats what is in the trace of the same run; only one of them may count.
#ifndef RINGSIDE_ANALYZER_MATCH_DUPLICATE_FILES_H
#define RINGSIDE_ANALYZER_MATCH_DUPLICATE_FILES_H

#include <string>
#include <vector>

#include "analyzer/model/trace.h"

namespace ringside::match {

/// Leaves one file of each run (run_id): the one with the most operations, among equals the trace
/// rather than a dump, then the first by path. Returns a line for each file that was taken out.
std::vector<std::string> remove_duplicate_files(model::Traces& traces);

}  // namespace ringside::match

#endif  // RINGSIDE_ANALYZER_MATCH_DUPLICATE_FILES_H
