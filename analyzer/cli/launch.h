// SPDX-License-Identifier: Apache-2.0
//
// `run`, `env` and `doctor` share this: the options that say what is to be recorded, and where to.
#ifndef RINGSIDE_ANALYZER_CLI_LAUNCH_H
#define RINGSIDE_ANALYZER_CLI_LAUNCH_H

#include <string>
#include <vector>

#include "launch/plan.h"

namespace CLI {
class App;
}

namespace ringside::cli {

struct LaunchOptions {
  launch::PlanOptions plan;
  std::string nccl_file;
};

/// --dir, --plugin and --nccl.
void add_place_options(CLI::App& command, LaunchOptions& options);
/// --events and --start-off.
void add_recording_options(CLI::App& command, LaunchOptions& options);

/// Looks for NCCL and makes the plan from this process's environment. It has in it what is wrong.
launch::Plan make_launch_plan(const LaunchOptions& options);

/// This process's environment, as "NAME=value".
std::vector<std::string> environment_variables();
const char* get_variable(const char* name);
/// Whether a shell with this environment would find the program.
bool is_in_path(const std::string& program);

/// Prints to stderr, a line each; not for control characters of others.
void print_launch_notes(const char* command, const std::vector<std::string>& notes);

}  // namespace ringside::cli

#endif  // RINGSIDE_ANALYZER_CLI_LAUNCH_H
