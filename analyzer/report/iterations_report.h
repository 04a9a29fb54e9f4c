// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_ANALYZER_REPORT_ITERATIONS_REPORT_H
#define RINGSIDE_ANALYZER_REPORT_ITERATIONS_REPORT_H

#include <vector>

#include "analyzer/match/matcher.h"
#include "analyzer/metrics/iterations/iterations.h"
#include "analyzer/model/trace.h"
#include "analyzer/report/document/document.h"

namespace ringside::report {

/// Reports what repeats, and how long each turn took. `is_series`: all iterations by time; else the
/// slowest first.
Document iterations_document(const std::vector<metrics::RunIterations>& runs,
                             const model::Traces& traces, const match::Matches& matches,
                             bool is_series);

}  // namespace ringside::report

#endif  // RINGSIDE_ANALYZER_REPORT_ITERATIONS_REPORT_H
