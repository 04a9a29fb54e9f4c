// SPDX-License-Identifier: Apache-2.0
//
// The page's data where several runs are side by side.
#ifndef RINGSIDE_ANALYZER_REPORT_PAGE_COMPARISON_H
#define RINGSIDE_ANALYZER_REPORT_PAGE_COMPARISON_H

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/metrics/compare/compare.h"
#include "analyzer/report/summary/health.h"

namespace ringside::report {

/// This is kept of a run when its traces are not in memory any more.
struct ComparedRun {
  std::string input;  // the directory or file, as a shell takes it
  std::vector<std::string> origin;
  std::uint64_t ranks = 0;
  std::uint64_t hosts = 0;
  std::uint64_t operations = 0;
  Health health;
  std::vector<metrics::TimesOfKind> times;
  std::vector<std::string> notes;  // what limits its figures
};

/// The runs in one table, the times of each kind of operations in a second one, and what
/// `ringside compare` says of each run against the one before it.
std::string comparison_json(const std::vector<ComparedRun>& runs);

}  // namespace ringside::report

#endif  // RINGSIDE_ANALYZER_REPORT_PAGE_COMPARISON_H
