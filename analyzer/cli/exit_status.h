// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_ANALYZER_CLI_EXIT_STATUS_H
#define RINGSIDE_ANALYZER_CLI_EXIT_STATUS_H

namespace ringside::cli {

/// Exit statuses of `ringside`; docs/analyzer.md says the same.
enum ExitStatus : int {
  kExitOk = 0,
  kExitFindings = 1,    // something was found that should not be
  kExitUsage = 2,       // the command line is wrong
  kExitNoInput = 3,     // nothing that was named could be read, or nothing fits what was chosen
  kExitIncomplete = 4,  // too little could be read for an answer (--strict, --fail-on, hang)
  kExitInternal = 70,   // a bug of ringside
  // run: the command was not started; else run has its status, which is any. env: no plugin.
  kExitNotStarted = 125,
};

/// For the help of every command.
inline constexpr char kExitStatuses[] =
    "Exit status:\n"
    "  0   all is well\n"
    "  1   something was found that should not be: findings of lint, something stuck (hang),\n"
    "      slower (compare) or not recovered (recover), a condition of summary --fail-on\n"
    "  2   the command line is wrong\n"
    "  3   nothing that was named could be read, or nothing in it fits --comm, --func, --rank and\n"
    "      the like\n"
    "  4   summary --strict: something could not be read, or events were dropped; --fail-on: a\n"
    "      condition cannot be judged; hang: nothing is seen to be stuck, and something could not\n"
    "      be read; reduce: something that was named is not there; compare: nothing can be judged\n"
    "  70  a bug in ringside, or the output cannot be written\n";

}  // namespace ringside::cli

#endif  // RINGSIDE_ANALYZER_CLI_EXIT_STATUS_H
