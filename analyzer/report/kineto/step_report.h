// SPDX-License-Identifier: Apache-2.0
//
// The critical path of a training's steps over all ranks, for `ringside critical-path --kineto`.
#ifndef RINGSIDE_ANALYZER_REPORT_KINETO_STEP_REPORT_H
#define RINGSIDE_ANALYZER_REPORT_KINETO_STEP_REPORT_H

#include <vector>

#include "analyzer/facts/facts.h"
#include "analyzer/metrics/rows/grouping.h"
#include "analyzer/metrics/steps/step_path.h"
#include "analyzer/report/document/document.h"

namespace ringside::report {

/// `by`: operations on the path are also told apart by this. The table of the path has so many rows
/// at most, of what may be millions; 0: all.
Document step_path_document(const metrics::StepPaths& paths,
                            const std::vector<metrics::ProcessGraph>& graphs,
                            const facts::Facts& facts, metrics::RowsBy by, std::size_t most_parts);

}  // namespace ringside::report

#endif  // RINGSIDE_ANALYZER_REPORT_KINETO_STEP_REPORT_H
