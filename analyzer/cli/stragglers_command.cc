// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/commands.h"
#include "analyzer/metrics/stragglers.h"
#include "analyzer/report/stragglers_report.h"

namespace ringside::cli {

ExitStatus run_stragglers(const AnalysisOptions& options) {
  const auto analysis = analyse(options);
  if (analysis == nullptr) {
    return kExitNoInput;
  }
  const metrics::Stragglers found =
      metrics::find_stragglers(analysis->traces, analysis->matches, analysis->alignment);
  return print_document(report::stragglers_document(found, analysis->matches), *analysis, options,
                        kExitOk);
}

}  // namespace ringside::cli
