// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/commands.h"
#include "analyzer/report/time_report.h"

namespace ringside::cli {

ExitStatus run_overlap(const AnalysisOptions& options) {
  const auto analysis = analyse(options);
  if (analysis == nullptr) {
    return kExitNoInput;
  }
  const metrics::Overlap found =
      metrics::find_overlap(analysis->traces, analysis->matches, analysis->alignment);
  return print_document(report::overlap_document(found, analysis->matches), *analysis, options,
                        kExitOk);
}

ExitStatus run_critical_path(const AnalysisOptions& options) {
  const auto analysis = analyse(options);
  if (analysis == nullptr) {
    return kExitNoInput;
  }
  const metrics::CriticalPath found =
      metrics::find_critical_path(analysis->traces, analysis->matches, analysis->alignment);
  return print_document(report::critical_path_document(found, analysis->traces, analysis->matches),
                        *analysis, options, kExitOk);
}

}  // namespace ringside::cli
