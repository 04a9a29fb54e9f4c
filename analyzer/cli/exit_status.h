// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_ANALYZER_CLI_EXIT_STATUS_H
#define RINGSIDE_ANALYZER_CLI_EXIT_STATUS_H

namespace ringside::cli {

/// Exit statuses of `ringside`; docs/analyzer.md and --help say the same.
enum ExitStatus : int {
  kExitOk = 0,
  kExitFindings = 1,    // lint: a file has findings; hang: something is stuck
  kExitUsage = 2,       // the command line is wrong
  kExitNoInput = 3,     // nothing that was named could be read
  kExitIncomplete = 4,  // with --strict: something could not be read or was dropped
  kExitInternal = 70,   // a bug of ringside
};

}  // namespace ringside::cli

#endif  // RINGSIDE_ANALYZER_CLI_EXIT_STATUS_H
