// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_ANALYZER_CLI_EXIT_STATUS_H
#define RINGSIDE_ANALYZER_CLI_EXIT_STATUS_H

#include <initializer_list>
#include <string>

namespace ringside::cli {

/// Exit statuses of `ringside`; docs/analyzer.md says the same.
enum ExitStatus : int {
  kExitOk = 0,
  kExitFindings = 1,    // a finding of severity error: something is wrong
  kExitUsage = 2,       // the command line is wrong
  kExitNoInput = 3,     // nothing that was named could be read, or nothing fits what was chosen
  kExitIncomplete = 4,  // too little could be read for an answer (--strict, --fail-on, hang)
  kExitInternal = 70,   // a bug of ringside
  // run: the command was not started; else run has its status, which is any. env: no plugin.
  kExitNotStarted = 125,
};

struct StatusMeaning {
  int status = 0;
  const char* meaning = "";
};

inline constexpr char kHasError[] = "a finding of severity error";
inline constexpr char kNothingFits[] =
    "nothing that was named could be read, or nothing in it fits the options that choose a part";
inline constexpr char kRestsOnPart[] =
    "no error was found, but something could not be read or is missing, so that the answer rests "
    "on what is left";
inline constexpr char kUsageOrExists[] =
    "the command line is wrong, or what is to be written exists (--force replaces it) or cannot be "
    "made";

/// Returns the last part of a command's help: its own statuses, and those that all commands have.
std::string exit_statuses(std::initializer_list<StatusMeaning> own);

}  // namespace ringside::cli

#endif  // RINGSIDE_ANALYZER_CLI_EXIT_STATUS_H
