// SPDX-License-Identifier: Apache-2.0
//
// Conditions under which a summary fails: "busbw<200,straggler>5%,mismatch".
#ifndef RINGSIDE_ANALYZER_CLI_ANALYSIS_FAIL_ON_H
#define RINGSIDE_ANALYZER_CLI_ANALYSIS_FAIL_ON_H

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/cli/analysis/analysis.h"
#include "analyzer/report/summary/summary.h"

namespace ringside::cli {

enum class FailOn : std::uint8_t {
  kBusbw,       // the least busbw of a row is below so many GB/s
  kAlgbw,       // likewise
  kEfficiency,  // likewise, of the peak, below so many percent
  kStraggler,   // a rank or host costs more than that of the wall time
  kWait,        // ranks waited for others for more than so much of all ranks' time
  kMismatch,    // ranks disagree in an operation
  kMissing,     // a rank did not call one
  kState,       // it is finished on some ranks and in flight on others
  kUnfinished,  // operations were not seen to finish
  kDropped,     // records were lost, or lines could not be read
};

struct Condition {
  FailOn what = FailOn::kMismatch;
  double limit = 0;          // GB/s, or percent
  bool is_at_least = false;  // the least of the range counts, in place of the best estimate
  std::string text;          // as it was given
};

/// Says in --help what they are.
extern const char kFailOnHelp[];

/// The conditions are separated by commas. Returns nothing, and a reason in `error`, if one is bad.
std::optional<std::vector<Condition>> parse_conditions(std::string_view text, std::string& error);

struct Verdicts {
  std::vector<std::string> failed;   // a line for each condition that holds
  std::vector<std::string> unknown;  // for each that cannot be judged
};

/// `gaps`: as report::find_gaps has them. If there are any, that none of something is seen does
/// not mean that there is none.
Verdicts judge_conditions(const std::vector<Condition>& conditions, const Analysis& analysis,
                          const report::Summary& summary, const std::vector<std::string>& gaps);

}  // namespace ringside::cli

#endif  // RINGSIDE_ANALYZER_CLI_ANALYSIS_FAIL_ON_H
