// SPDX-License-Identifier: Apache-2.0
//
// The graphs of the profiled processes, within bounded memory: small ones are kept whole. Of others
// that is kept which says by what ranks the paths go; then the profiles of these ranks are read
// once more, for what the paths take there.
#ifndef RINGSIDE_ANALYZER_CLI_ANALYSIS_PATH_GRAPHS_H
#define RINGSIDE_ANALYZER_CLI_ANALYSIS_PATH_GRAPHS_H

#include <cstddef>
#include <optional>
#include <string>

#include "analyzer/cli/analysis/analysis.h"
#include "analyzer/cli/analysis/profile_join.h"

namespace ringside::cli {

/// Returns what makes the graph of each profile, into analysis.graphs.
ProfileTake take_graphs(const AnalysisOptions& options, Analysis& analysis);

/// Completes these graphs for the paths of all steps, or of `instance`; with `has_waits` also for
/// what ranks did while others waited for them. Returns why that cannot be done; empty if it is.
std::string complete_graphs(const AnalysisOptions& options, std::optional<std::size_t> instance,
                            bool has_waits, Analysis& analysis);

}  // namespace ringside::cli

#endif  // RINGSIDE_ANALYZER_CLI_ANALYSIS_PATH_GRAPHS_H
