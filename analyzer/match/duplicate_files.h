// SPDX-License-Identifier: Apache-2.0
//
// A dump has the same operations as the trace of its run, so only one of both files may count.
#ifndef RINGSIDE_ANALYZER_MATCH_DUPLICATE_FILES_H
#define RINGSIDE_ANALYZER_MATCH_DUPLICATE_FILES_H

#include <string>
#include <vector>

#include "analyzer/model/trace.h"

namespace ringside::match {

/// Keeps one file of each run_id: the one with the most operations. Among equals, a trace wins
/// against a dump, and then the first path wins. Returns a line for each file that was removed.
std::vector<std::string> remove_duplicate_files(model::Traces& traces);

/// Returns the first of these lines, and how many more there are. There must be one.
std::string duplicates_text(const std::vector<std::string>& notes);

}  // namespace ringside::match

#endif  // RINGSIDE_ANALYZER_MATCH_DUPLICATE_FILES_H
