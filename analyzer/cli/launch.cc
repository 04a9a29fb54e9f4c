// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/launch.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <unistd.h>

#include <CLI/CLI.hpp>

namespace ringside::cli {

void add_place_options(CLI::App& command, LaunchOptions& options) {
  command
      .add_option(
          "--dir", options.plan.directory,
          "Directory of the traces; may exist, and be shared by the nodes of a job (default: "
          "RINGSIDE_DIR, else a new ringside-<date>-<time>)")
      ->type_name("DIR");
  command
      .add_option("--plugin", options.plan.plugin,
                  "Ringside's plugin (default: the one next to this program)")
      ->type_name("FILE");
  command
      .add_option("--nccl", options.nccl_file,
                  "The NCCL library that the job uses (default: those that the loader and python3 "
                  "find)")
      ->type_name("FILE")
      ->check(CLI::ExistingFile.description(""));
}

void add_recording_options(CLI::App& command, LaunchOptions& options) {
  command
      .add_option(
          "--events", options.plan.events,
          "Events to record, as RINGSIDE_EVENTS has them: default, all, coll,p2p,proxy, ...")
      ->type_name("EVENTS")
      ->check([](const std::string& text) { return launch::trouble_with_events(text); });
  command
      .add_option("--sample", options.plan.sample,
                  "Keep one of N collectives (RINGSIDE_SAMPLE): coll:1/N")
      ->type_name("SHARES")
      ->check([](const std::string& text) { return launch::trouble_with_sample(text); });
  command
      .add_option("--markers", options.plan.markers,
                  "NVTX ranges of operations, as RINGSIDE_MARKERS has it")
      ->type_name("KIND")
      ->check(CLI::IsMember({"off", "all", "cross_node"}));
  CLI::Option* const duration =
      command
          .add_option("--duration", options.plan.duration_s,
                      "Stop recording this long after the first communicator was made")
          ->check(CLI::Range(0.1, 30.0 * 24 * 3600))
          ->type_name("SECONDS");
  command
      .add_flag("--start-off", options.plan.start_off,
                "Record nothing until the program calls ringside_start()")
      ->excludes(duration);
}

launch::Plan make_launch_plan(const LaunchOptions& options) {
  // The search takes a while, and its result is not needed where the user has chosen.
  const char* const broadcasts = get_variable("NCCL_ALLGATHERV_ENABLE");
  const bool is_chosen =
      broadcasts != nullptr && (!options.plan.with_kernels || std::strcmp(broadcasts, "0") != 0);
  return launch::make_plan(
      options.plan, get_variable, environment_variables(),
      is_chosen ? std::vector<launch::NcclLibrary>() : launch::find_nccl(options.nccl_file));
}

std::vector<std::string> environment_variables() {
  std::vector<std::string> variables;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    variables.emplace_back(*variable);
  }
  return variables;
}

const char* get_variable(const char* name) {
  return std::getenv(name);
}

bool is_in_path(const std::string& program) {
  const char* const variable = get_variable("PATH");
  std::istringstream directories(variable != nullptr ? variable : "");
  for (std::string directory; std::getline(directories, directory, ':');) {
    directory.append("/").append(program);
    if (access(directory.c_str(), X_OK) == 0) {
      return true;
    }
  }
  return false;
}

void print_launch_notes(const char* command, const std::vector<std::string>& notes) {
  for (const std::string& note : notes) {
    std::fprintf(stderr, "ringside %s: %s\n", command, launch::printable(note).c_str());
  }
}

}  // namespace ringside::cli
