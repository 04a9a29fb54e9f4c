// SPDX-License-Identifier: Apache-2.0
//
// The option --baseline: what another run has reached, in the place of the peak that links allow.
#ifndef RINGSIDE_ANALYZER_CLI_ANALYSIS_BASELINE_H
#define RINGSIDE_ANALYZER_CLI_ANALYSIS_BASELINE_H

#include <optional>
#include <string>
#include <vector>

#include "analyzer/metrics/rows/baseline.h"
#include "analyzer/metrics/rows/rows.h"

namespace CLI {
class App;
}

namespace ringside::cli {

void add_baseline_option(CLI::App& command, std::string& path);

/// Reads the baseline, which is a run's traces, the output of nccl-tests, or a directory of either.
/// Nothing, after a message on stderr, if it cannot be read. `command`: "ringside summary".
std::optional<metrics::Baseline> read_baseline(const std::string& command, const std::string& path);

/// Puts a baseline in the place of the rows' peaks. Does nothing if `path` is empty. False as
/// above.
bool take_baseline(const std::string& command, const std::string& path,
                   std::vector<metrics::CommunicatorRows>& rows);

}  // namespace ringside::cli

#endif  // RINGSIDE_ANALYZER_CLI_ANALYSIS_BASELINE_H
