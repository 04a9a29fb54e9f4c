// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_ANALYZER_REPORT_COMPARE_REPORT_H
#define RINGSIDE_ANALYZER_REPORT_COMPARE_REPORT_H

#include <optional>
#include <vector>

#include "analyzer/metrics/compare/compare.h"
#include "analyzer/report/document/document.h"

namespace ringside::report {

/// True if it is significant, and the median time rose by more than so many percent.
bool got_slower(const metrics::Change& change, double threshold_percent);
bool got_slower(const std::optional<metrics::IterationChange>& iterations,
                double threshold_percent);

/// Reports what got slower, and what faster, by more than `threshold_percent`. `by`: what kinds are
/// also told apart by.
Document compare_document(const std::optional<metrics::IterationChange>& iterations,
                          const std::vector<metrics::Change>& changes, double threshold_percent,
                          metrics::RowsBy by = metrics::RowsBy::kKind);

}  // namespace ringside::report

#endif  // RINGSIDE_ANALYZER_REPORT_COMPARE_REPORT_H
