// SPDX-License-Identifier: Apache-2.0
//
// The critical path of a training's steps as lines of a merged file: a row for the steps, one for
// each rank on the path, and arrows from rank to rank.
#ifndef RINGSIDE_ANALYZER_MERGE_PATH_LINES_H
#define RINGSIDE_ANALYZER_MERGE_PATH_LINES_H

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/facts/facts.h"
#include "analyzer/merge/plan.h"
#include "analyzer/metrics/steps/step_path.h"

namespace ringside::merge {

/// Each line ends with ",\n". `pid` is nobody's. Empty if there is no path.
std::string path_lines(const metrics::StepPaths& paths,
                       const std::vector<metrics::ProcessGraph>& graphs, const facts::Facts& facts,
                       const Plan& plan, std::uint32_t pid);

}  // namespace ringside::merge

#endif  // RINGSIDE_ANALYZER_MERGE_PATH_LINES_H
