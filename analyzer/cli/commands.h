// SPDX-License-Identifier: Apache-2.0
//
// The subcommands, after their arguments have been parsed.
#ifndef RINGSIDE_ANALYZER_CLI_COMMANDS_H
#define RINGSIDE_ANALYZER_CLI_COMMANDS_H

#include <string>
#include <vector>

#include "analyzer/cli/exit_status.h"

namespace ringside::cli {

struct SummaryOptions {
  std::vector<std::string> inputs;
  std::string format = "table";
  bool is_strict = false;
};

struct LintOptions {
  std::vector<std::string> inputs;
  bool must_be_closed = false;
  bool list_rules = false;
};

struct RecoverOptions {
  std::vector<std::string> inputs{"/dev/shm"};
  std::string output_directory;
  bool keep = false;
  bool also_running = false;
};

struct HangOptions {
  std::vector<std::string> inputs;
  std::string format = "table";
  std::string table;  // of CSV; empty: the first
  bool must_not_align = false;
  double min_age_s = 1;
  std::size_t top = 0;  // rows of each table; 0: all
};

struct NetworkOptions {
  std::vector<std::string> inputs;
  std::string format = "table";
  std::string table;     // of CSV; empty: the first
  std::size_t top = 20;  // links; 0: all
};

/// Results go to stdout, everything else to stderr.
ExitStatus run_summary(const SummaryOptions& options);
ExitStatus run_lint(const LintOptions& options);
ExitStatus run_recover(const RecoverOptions& options);
ExitStatus run_hang(const HangOptions& options);
ExitStatus run_network(const NetworkOptions& options);

/// The whole program: parses the command line and runs what it asks for.
ExitStatus run(int argc, char** argv);

}  // namespace ringside::cli

#endif  // RINGSIDE_ANALYZER_CLI_COMMANDS_H
