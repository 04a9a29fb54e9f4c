// SPDX-License-Identifier: Apache-2.0
//
// A dump has the same operations as the trace of its run, so only one of both files may count.
#ifndef RINGSIDE_ANALYZER_MATCH_COMMUNICATORS_DUPLICATE_FILES_H
#define RINGSIDE_ANALYZER_MATCH_COMMUNICATORS_DUPLICATE_FILES_H

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "analyzer/model/trace.h"

namespace ringside::match {

/// Whether the first of two files of one run is kept: that with more operations; among equals a
/// trace rather than a dump, and then the first path.
bool is_better_file(const model::TraceFile& a, const model::TraceFile& b);

/// Keeps one file of each run_id: one of `wanted` (indices) if there is one, else the best. Returns
/// a line for each file that was removed.
std::vector<std::string> remove_duplicate_files(model::Traces& traces,
                                                const std::set<std::size_t>& wanted = {});

/// Returns the first of these lines, and how many more there are. There must be one.
std::string duplicates_text(const std::vector<std::string>& notes);

}  // namespace ringside::match

#endif  // RINGSIDE_ANALYZER_MATCH_COMMUNICATORS_DUPLICATE_FILES_H
