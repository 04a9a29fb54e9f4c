// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_ANALYZER_CLI_LIVE_HANG_ANSWER_H
#define RINGSIDE_ANALYZER_CLI_LIVE_HANG_ANSWER_H

#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/cli/analysis/analysis.h"

namespace ringside::cli {

struct HangAnswer {
  report::Document document;
  ExitStatus status = kExitOk;
  std::vector<std::uint32_t> at_fault = {};   ///< files of two ranks at most
  std::optional<std::uint32_t> waiting = {};  ///< of one that waits, for comparison
};

/// Says what is stuck in traces that are loaded. Only the latest file of each process and those
/// that are chosen stay in `analysis`, with their clocks aligned. Nothing, after a message on
/// stderr, if an option names what is not there.
std::optional<HangAnswer> answer_hang(const AnalysisOptions& options, double min_age_s,
                                      Analysis& analysis);

}  // namespace ringside::cli

#endif  // RINGSIDE_ANALYZER_CLI_LIVE_HANG_ANSWER_H
