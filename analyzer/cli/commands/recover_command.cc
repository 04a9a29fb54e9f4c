// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <filesystem>
#include <map>
#include <string>
#include <sys/stat.h>
#include <vector>

#include "analyzer/cli/commands.h"
#include "analyzer/cli/output.h"
#include "analyzer/cli/recovery_text.h"
#include "analyzer/model/printable.h"
#include "analyzer/report/document/numbers.h"
#include "launch/files.h"
#include "plugin/journal/journal_format.h"

namespace ringside::cli {
namespace {

struct RecoverOptions {
  std::vector<std::string> inputs{"/dev/shm", journal::control_parent()};
  std::string output_directory;
  std::string job;
  std::string trace_directory;
  bool is_dry_run = false;
  bool keep = false;
  bool also_running = false;
};

constexpr char kRecoverExample[] =
    "The rings of a dead process stay in memory (RINGSIDE_RING_DIR, /dev/shm) as long as the "
    "machine or container lives. `recover` adds their records to the trace that the process had "
    "begun, in its place, and removes the rings. Run it on every node of the job.\n\n"
    "Examples:\n"
    "  ringside recover\tall rings of dead processes in /dev/shm\n"
    "  ringside recover --job llama --dry-run\twhat would be done for one job\n"
    "  ringside recover --keep --output /tmp/look\tcopies, and nothing is changed\n"
    "  ringside recover --running /dev/shm\talso of processes that live: a copy of the moment\n";

// A directory that `recover` must look at, and whether the user has named it or something in it.
using Directories = std::map<std::string, bool>;

// All are found before the first is recovered and removed: a shell names a directory and the files
// in it at once. Returns false, after a message on stderr, if something is not there.
bool find_all(const std::vector<std::string>& inputs, Directories& found) {
  bool are_there = true;
  for (std::string input : inputs) {
    struct stat about {};
    if (stat(input.c_str(), &about) == 0 && S_ISREG(about.st_mode)) {
      input += "/..";  // a ring's file, or the journal, stands for all of them
    }
    if (stat(input.c_str(), &about) != 0 || !S_ISDIR(about.st_mode)) {
      tell("ringside recover: " + input + ": there is no such directory");
      are_there = false;
      continue;
    }
    for (const std::string& directory : recover::find_directories(input)) {
      const std::string path = std::filesystem::path(directory).lexically_normal();
      found[path] = found[path] || directory == input;
    }
  }
  return are_there;
}

// Whether --job and --dir choose these rings.
bool is_chosen(const RecoverOptions& options, const std::string& directory) {
  if (!options.job.empty() && !std::filesystem::path(directory).filename().string().starts_with(
                                  launch::name_prefix(options.job))) {
    return false;
  }
  if (options.trace_directory.empty()) {
    return true;
  }
  std::error_code error;
  const auto traces = std::filesystem::absolute(options.trace_directory, error) / "";
  const auto trace = recover::final_path(directory);
  return trace && (trace->empty() || trace->starts_with(traces.lexically_normal().string()));
}

ExitStatus print_dry_run(const RecoverOptions& options, const Directories& found) {
  std::string text;
  for (const auto& [directory, is_named] : found) {
    const auto known = recover::final_path(directory);
    text += model::printable(directory);
    if (!known) {
      text += ": no trace: the process runs, or its journal cannot be read\n";
      continue;
    }
    const std::filesystem::path trace = *known;
    text +=
        ": " + (trace.empty() ? "nothing to recover"
                : options.output_directory.empty()
                    ? model::printable(trace.string())
                    : options.output_directory + '/' + model::printable(trace.filename().string()));
    text += options.keep ? "; rings would be kept\n" : "; rings would be removed\n";
  }
  return print(text) ? kExitOk : kExitInternal;
}

ExitStatus run_recover(const RecoverOptions& options) {
  recover::Options how;
  how.output_directory = options.output_directory;
  how.also_running = options.also_running;
  how.keep = options.keep;
  Directories found;
  const bool are_there = find_all(options.inputs, found);
  std::erase_if(found, [&](const auto& one) { return !is_chosen(options, one.first); });
  if (found.empty() && are_there && !(options.job.empty() && options.trace_directory.empty())) {
    // A job that has ended well has left none.
    note("ringside recover: no rings are of the job or directory that was named");
    return kExitNoInput;
  }
  if (options.is_dry_run) {
    const ExitStatus status = print_dry_run(options, found);
    return status != kExitOk || are_there ? status : kExitNoInput;
  }
  if (!options.output_directory.empty() && !found.empty()) {
    if (const std::string wrong = launch::make_directory(options.output_directory);
        !wrong.empty()) {
      tell("ringside recover: " + wrong);
      return kExitFindings;
    }
  }
  std::size_t running = 0;
  bool failed = false;
  for (const auto& [directory, is_named] : found) {
    const recover::Outcome outcome = recover::recover(directory, how);
    for (const std::string& what : outcome.notes) {
      std::string line = "ringside recover: ";
      line.append(directory).append(": ").append(what);
      tell(line);
    }
    // If the process lives, a ring that could not be read may be one that is being made.
    failed = failed || (outcome.unread_rings != 0 && !outcome.is_running);
    if (outcome.result.is_ok()) {
      if (!print(recovery_text(directory, outcome))) {
        return kExitInternal;
      }
      continue;
    }
    // A ring directory that the user did not name may be of a healthy job, which is no failure.
    const bool harmless = outcome.is_running && !how.also_running && !is_named;
    running += harmless ? 1 : 0;
    failed = failed || !harmless;
    if (!harmless) {
      tell("ringside recover: " + directory + ": " + outcome.result.text());
    }
  }
  if (running != 0) {
    note("ringside recover: " + report::counted(running, "process", "processes") +
         " left alone: " + (running == 1 ? "it is" : "they are") + " running");
  }
  if (found.empty() && are_there) {
    for (const std::string& input : options.inputs) {
      note("ringside recover: " + input + ": no process has left rings there");
    }
  }
  if (failed) {
    return kExitFindings;
  }
  return are_there ? kExitOk : kExitNoInput;
}

}  // namespace

std::string recovery_text(const std::string& directory, const recover::Outcome& outcome) {
  std::string text = model::printable(directory) + ": ";
  if (outcome.trace.empty()) {
    return text + "nothing to recover" + (outcome.removed ? "; removed\n" : "\n");
  }
  text += model::printable(outcome.trace) + ": " +
          report::counted(outcome.operations_before, "operation") + " in the trace, " +
          std::to_string(outcome.operations) + " recovered (" + std::to_string(outcome.in_flight) +
          " in flight), from " + report::counted(outcome.records, "record") + " of process " +
          std::to_string(outcome.pid) + "; " + std::to_string(outcome.lost) + " of " +
          report::counted(outcome.callbacks, "callback") + " lost with it";
  return text + (outcome.removed ? "; rings removed\n" : "; rings kept\n");
}

std::string recovery_text(const std::vector<std::pair<std::string, recover::Outcome>>& outcomes) {
  if (outcomes.size() == 1) {
    return recovery_text(outcomes.front().first, outcomes.front().second);
  }
  recover::Outcome sum;
  bool are_removed = true;
  for (const auto& [directory, one] : outcomes) {
    sum.operations_before += one.operations_before;
    sum.operations += one.operations;
    sum.in_flight += one.in_flight;
    sum.records += one.records;
    sum.callbacks += one.callbacks;
    sum.lost += one.lost;
    are_removed = are_removed && one.removed;
  }
  return report::counted(outcomes.size(), "process", "processes") +
         " had died: " + report::counted(sum.operations_before, "operation") +
         " in their traces, " + std::to_string(sum.operations) + " recovered (" +
         std::to_string(sum.in_flight) + " in flight), from " +
         report::counted(sum.records, "record") + "; " + std::to_string(sum.lost) + " of " +
         report::counted(sum.callbacks, "callback") + " lost with them; " +
         (are_removed ? "rings removed\n" : "some rings kept\n");
}

void add_recover(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<RecoverOptions>();
  CLI::App* const command = app.add_subcommand(
      "recover", "Make whole traces of processes that died, from the rings that they left");
  command
      ->add_option(
          "DIR", options->inputs,
          "Ring directories (ringside.*.rings), a file in one, or directories that hold some")
      ->capture_default_str();
  command
      ->add_option(
          "--output", options->output_directory,
          "Write the traces into this directory (made if missing) instead of replacing the "
          "unfinished ones")
      ->type_name("DIR");
  command->add_option("--job", options->job, "Only the rings of the job of this name")
      ->type_name("NAME");
  command
      ->add_option("--dir", options->trace_directory,
                   "Only the rings of dead processes whose traces are in this directory")
      ->type_name("DIR");
  command->add_flag("--dry-run", options->is_dry_run,
                    "Change nothing: print which traces would be made");
  add_quiet_option(*command);
  command->add_flag("--keep", options->keep, "Do not remove what has been recovered");
  command->add_flag("--running", options->also_running,
                    "Also copy the records of live processes into NAME.recovered.json");
  set_command(*command, kRecoverExample,
              {{0, "everything was recovered, or there was nothing to recover"},
               {1, "something could not be recovered"},
               {3, "a directory that was named is not there, or no rings are of --job and --dir"}},
              options, chosen, run_recover);
}

}  // namespace ringside::cli
