// SPDX-License-Identifier: Apache-2.0
//
// All operations of a training's steps in which a rank waited for another, and what that one was
// in.
#ifndef RINGSIDE_ANALYZER_REPORT_KINETO_STEP_WAITS_H
#define RINGSIDE_ANALYZER_REPORT_KINETO_STEP_WAITS_H

#include <string>
#include <vector>

#include "analyzer/facts/facts.h"
#include "analyzer/metrics/steps/step_path.h"
#include "analyzer/report/document/document.h"

namespace ringside::report {

/// A row for each, in the order given, under the key "waits".
Table step_waits_table(const std::vector<metrics::WaitPath>& waits,
                       const std::vector<metrics::ProcessGraph>& graphs, const facts::Facts& facts);

/// A sentence for each of the first three.
std::vector<std::string> step_wait_sentences(const std::vector<metrics::WaitPath>& waits,
                                             const std::vector<metrics::ProcessGraph>& graphs,
                                             const facts::Facts& facts);

}  // namespace ringside::report

#endif  // RINGSIDE_ANALYZER_REPORT_KINETO_STEP_WAITS_H
