// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

#include "analyzer/cli/commands.h"
#include "analyzer/cli/launch.h"
#include "analyzer/cli/live/job_watch.h"
#include "analyzer/cli/output.h"
#include "analyzer/cli/recovery_text.h"
#include "analyzer/cli/run_summary.h"
#include "analyzer/report/document/numbers.h"
#include "analyzer/report/hang/run_ends.h"
#include "launch/end_watch.h"
#include "launch/files.h"
#include "launch/job.h"
#include "launch/job_rings.h"

namespace ringside::cli {
namespace {

struct RunOptions : LaunchOptions {
  std::vector<std::string> command;
  bool no_summary = false;
  bool dry_run = false;
  double wait_s = 10;
  std::size_t top = 20;
  bool is_watched = false;
  std::string watch_options;  // separated by spaces
};

constexpr char kRunExample[] =
    "This command runs a command and its children so that NCCL loads Ringside's plugin. Then it "
    "summarises their operations and names the directory of the traces. Its messages go to "
    "standard error, since standard output belongs to the command. Signals are passed on. `run` "
    "waits for processes that outlive the command (--wait), such as workers of a killed launcher, "
    "and recovers the traces of killed processes. A second SIGTERM ends it at once.\n\n"
    "Examples:\n"
    "  ringside run -- torchrun --nproc-per-node 8 train.py\n"
    "  ringside run --events coll,p2p --no-summary -- ./train\tfewer events, no summary\n"
    "  ringside run --watch -- torchrun --nproc-per-node 8 train.py\tand say at once what goes "
    "wrong\n"
    "  ringside run --dry-run -- ./train\tthe variables that it would set\n"
    "  ringside run --dir /shared/run-17 -- torchrun --nnodes 2 ...\tthe same on every node: all "
    "traces in one directory\n";

std::set<std::string> names_since(const std::string& directory, const std::string& prefix,
                                  const std::set<std::string>& before) {
  const std::set<std::string> now = launch::names_with_prefix(directory, prefix);
  std::set<std::string> added;
  std::set_difference(now.begin(), now.end(), before.begin(), before.end(),
                      std::inserter(added, added.end()));
  return added;
}

// Rings and trace of a process have the same name but for its end. Another job may have the same
// name and another directory.
bool is_of_run(const launch::Plan& plan, const std::string& name,
               const std::set<std::string>& traces) {
  const std::string stem = name.substr(0, name.rfind('.') + 1);
  const auto trace = traces.lower_bound(stem);
  const auto known = recover::final_path(plan.ring_directory + "/" + name);
  return (trace != traces.end() && trace->starts_with(stem)) ||
         (known && (known->empty() || known->starts_with(plan.directory + "/")));
}

// A process that was killed has left its rings.
void recover_rings(const launch::Plan& plan, const launch::JobRings& rings,
                   const std::set<std::string>& traces) {
  std::vector<std::pair<std::string, recover::Outcome>> recovered;
  for (const std::string& name : rings.left_over()) {
    if (!rings.is_known(name) && !is_of_run(plan, name, traces)) {
      continue;
    }
    const std::string path = plan.ring_directory + "/" + name;
    recover::Outcome outcome = recover::recover(path, {});
    print_launch_notes("run", outcome.notes);
    if (!outcome.result.is_ok()) {
      print_launch_notes("run", {path + ": " + outcome.result.text()});
    } else {
      recovered.emplace_back(path, std::move(outcome));
    }
  }
  if (!recovered.empty()) {
    std::fprintf(stderr, "ringside run: %s", recovery_text(recovered).c_str());
  }
}

// Keeps how the processes ended, if one did not end well.
void keep_ends(const launch::Plan& plan, const launch::JobRings& rings,
               std::vector<launch::ProcessEnd> ends) {
  std::erase_if(ends, [](const launch::ProcessEnd& end) { return !end.rank.empty(); });
  if (std::all_of(ends.begin(), ends.end(),
                  [](const launch::ProcessEnd& end) { return end.status == 0; })) {
    return;
  }
  std::ofstream file(plan.directory + "/ringside-ends-" + rings.launch() + ".jsonl");
  const std::string boot_id = launch::this_boot_id();
  for (const launch::ProcessEnd& end : ends) {
    file << launch::end_line(end, boot_id);
  }
}

// On a terminal, one line that says for whom ringside waits, and that is gone afterwards.
class WaitingLine {
 public:
  WaitingLine() : is_used_(isatty(STDERR_FILENO) == 1) {}
  WaitingLine(const WaitingLine&) = delete;
  WaitingLine& operator=(const WaitingLine&) = delete;
  ~WaitingLine() {
    if (is_shown_) {
      std::fputs("\r\x1b[K", stderr);
    }
  }

  void show(std::size_t processes, std::chrono::milliseconds left) {
    if (is_used_) {
      std::fprintf(
          stderr, "\r\x1b[Kringside run: waiting for %s of the job to end, %s at most",
          report::counted(processes, "process", "processes").c_str(),
          (std::to_string(std::chrono::ceil<std::chrono::seconds>(left).count()) + " s").c_str());
      std::fflush(stderr);
      is_shown_ = true;
    }
  }

 private:
  bool is_used_;
  bool is_shown_ = false;
};

// The options of `ringside watch` beside the command: those that every such watch has, and the
// user's.
std::vector<std::string> watch_options_of(const RunOptions& options, const launch::Plan& plan) {
  constexpr char kMonth_s[] = "2592000";
  std::vector<std::string> words = {
      "--job",        plan.job,   "--dir",
      plan.directory, "--output", plan.directory + "/ringside-watch.jsonl",
      "--wait",       kMonth_s,   "--last-look"};
  if (!plan.ring_directory.empty()) {
    words.insert(words.end(), {"--ring-dir", plan.ring_directory});
  }
  std::istringstream more(options.watch_options);
  words.insert(words.end(), std::istream_iterator<std::string>(more), {});
  return words;
}

// `ringside watch` beside the command, in a process of its own: nothing that it does holds the
// command up.
std::optional<JobWatch> start_watch(const RunOptions& options, const launch::Plan& plan) {
  // All ranks of a launcher wait for each other; one of them watches.
  if (!options.is_watched || plan.task.value_or(0) > 0) {
    return std::nullopt;
  }
  std::vector<std::string> words = watch_options_of(options, plan);
  words.insert(words.begin(), "watch");
  return std::make_optional<JobWatch>(std::move(words));
}

launch::JobEnd run_and_wait(const RunOptions& options, const launch::Plan& plan,
                            launch::JobRings& rings) {
  WaitingLine line;
  launch::Outliving outliving;
  outliving.count = [&] { return rings.living().size(); };
  outliving.patience = std::chrono::milliseconds(static_cast<std::int64_t>(options.wait_s * 1000));
  outliving.show = [&](std::size_t count, std::chrono::milliseconds left) {
    line.show(count, left);
  };
  launch::Variables variables = plan.variables();
  variables.push_back(rings.variable());
  return launch::run_job(options.command, variables, outliving);
}

// Names the processes that still live after the wait.
void say_who_lives(launch::JobRings& rings) {
  const std::vector<pid_t> living = rings.living();
  if (living.empty()) {
    return;
  }
  std::string pids;
  for (const pid_t pid : living) {
    pids += (pids.empty() ? "" : ", ") + (pid > 0 ? std::to_string(pid) : "in a container");
  }
  print_launch_notes("run",
                     {report::counted(living.size(), "process of the job still runs",
                                      "processes of the job still run") +
                      " (" + pids + "): their traces are not whole " +
                      "yet; those of processes that are killed `ringside recover` completes"});
}

// Names the rank that failed first, if the command has failed before NCCL loaded the plugin.
bool say_who_ended_first(const std::vector<launch::ProcessEnd>& ends) {
  const auto first = std::find_if(ends.begin(), ends.end(), [](const launch::ProcessEnd& end) {
    return !end.rank.empty() && end.status != 0;
  });
  if (first == ends.end()) {
    return false;
  }
  print_launch_notes(
      "run", {"no trace was made: rank " + launch::printable(first->rank) + " (pid " +
              std::to_string(first->pid) + ") ended first" +
              (first->status ? ", " + report::how_it_ended(*first->status) : std::string()) +
              ", before NCCL loaded the plugin"});
  return true;
}

void say_no_trace(const launch::Plan& plan) {
  if (plan.is_flight_recorder) {
    std::fprintf(
        stderr,
        "ringside run: no trace: the flight recorder (RINGSIDE_FLIGHT_BYTES) writes one where "
        "ringside_dump() asks for it\n");
    return;
  }
  std::fprintf(
      stderr,
      "ringside run: no trace was made on this machine in %s: NCCL has not loaded the plugin. "
      "Perhaps\n"
      "  - the command does not use NCCL, or makes no communicator;\n"
      "  - its NCCL is older than 2.23, or it is linked with it statically and without -ldl;\n"
      "  - a launcher or container does not pass NCCL_PROFILER_PLUGIN on (see `ringside env`),\n"
      "    or sets it to another plugin, or the plugin's file is not there;\n"
      "  - the directory cannot be written there.\n"
      "`ringside doctor` looks at all of this. NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,PROFILE has\n"
      "NCCL say what it looks for.\n",
      plan.directory.c_str());
}

void finish_run(const RunOptions& options, const launch::Plan& plan,
                const std::set<std::string>& before, launch::JobRings& rings,
                const std::vector<launch::ProcessEnd>& ends) {
  const std::string prefix = plan.is_given_directory ? launch::name_prefix(plan.job) : "ringside.";
  say_who_lives(rings);
  recover_rings(plan, rings, names_since(plan.directory, prefix, before));
  const std::set<std::string> names = names_since(plan.directory, prefix, before);
  // All ranks of a launcher wait for each other; one of them speaks.
  if (plan.task.value_or(0) > 0 && plan.is_given_directory) {
    return;
  }
  std::vector<std::string> traces;
  for (const std::string& name : names) {
    if (launch::is_trace_name(name)) {
      traces.push_back(plan.directory + "/" + name);
    }
  }
  if (traces.empty()) {
    if (!say_who_ended_first(ends)) {
      say_no_trace(plan);
    }
    if (!plan.is_given_directory) {
      rmdir(plan.directory.c_str());  // which fails where the command has put something there
    }
    return;
  }
  constexpr std::uintmax_t kLeastRoom_bytes = 64 << 10;
  std::error_code error;
  if (std::filesystem::space(plan.directory, error).available < kLeastRoom_bytes && !error) {
    print_launch_notes("run", {"the disk of " + plan.directory +
                               " is full: what the traces lack could not be written"});
  }
  if (!options.no_summary) {
    const bool is_terminal = isatty(STDERR_FILENO) == 1;
    std::fputs(
        run_summary(traces, options.top, plan.directory, screen_columns(STDERR_FILENO), is_terminal)
            .c_str(),
        stderr);
  }
  if (!before.empty()) {
    std::fprintf(stderr, "ringside run: left out, since they were there before: %s\n",
                 report::counted(before.size(), "file").c_str());
  }
  std::fprintf(stderr, "ringside run: %s in %s\n",
               report::counted(traces.size(), "trace file").c_str(), plan.directory.c_str());
}

ExitStatus print_dry_run(const RunOptions& options, const launch::Plan& plan) {
  return print(launch::as_exports(plan.variables()) + launch::as_exports(plan.inherited) +
               launch::as_comment(options.command))
             ? kExitOk
             : kExitInternal;
}

// Makes the directory of the traces. Returns what is wrong, or "".
std::string prepare_directory(launch::Plan& plan) {
  if (plan.is_given_directory) {
    return launch::make_directory(plan.directory);
  }
  std::string error;
  plan.directory = launch::make_new_directory(plan.directory, error);
  return error;
}

ExitStatus run_run(const RunOptions& options) {
  if (options.command.empty() || options.command.front().empty()) {
    std::fprintf(stderr,
                 "ringside run: say what to run, behind --: ringside run [OPTIONS] -- COMMAND...\n"
                 "Try `ringside run --help`.\n");
    return kExitUsage;
  }
  launch::Plan plan = make_launch_plan(options);
  // A mistake in the watch is told before the job starts, and before what the plan lacks.
  if (options.is_watched) {
    launch::Plan named = plan;
    named.job = plan.job.empty() ? "job" : plan.job;
    named.directory = plan.directory.empty() ? "." : plan.directory;
    const std::string trouble = trouble_with("watch", watch_options_of(options, named), add_watch);
    if (!trouble.empty()) {
      std::fprintf(stderr, "ringside run: --watch-options: %s\n", trouble.c_str());
      return kExitUsage;
    }
  }
  if (plan.error.empty() && options.dry_run) {
    print_launch_notes("run", plan.notes);
    return print_dry_run(options, plan);
  }
  if (plan.error.empty()) {
    plan.error = prepare_directory(plan);
  }
  if (!plan.error.empty()) {
    print_launch_notes("run", {plan.error});
    return kExitNotStarted;
  }
  if (plan.task.value_or(0) == 0 || !plan.is_given_directory) {
    print_launch_notes("run", plan.notes);
  }
  const std::set<std::string> before = launch::names_with_prefix(plan.directory, "ringside.");
  launch::JobRings rings(plan);
  std::optional<JobWatch> watch = start_watch(options, plan);
  launch::EndWatch end_watch(rings);
  const launch::JobEnd end = run_and_wait(options, plan, rings);
  const std::vector<launch::ProcessEnd> ends = end_watch.stop();
  watch.reset();  // before the rings of killed processes are gone
  const auto status = static_cast<ExitStatus>(end.status);
  if (!end.error.empty()) {
    print_launch_notes("run", {end.error});
    if (!plan.is_given_directory) {
      rmdir(plan.directory.c_str());
    }
    return status;
  }
  if (end.signal != 0) {
    print_launch_notes("run", {"signal " + std::to_string(end.signal) + " ended the command"});
  }
  if (end.is_cut_short) {
    print_launch_notes("run", {"a signal has ended the waiting: no summary, and nothing is "
                               "recovered; the traces are in " +
                               plan.directory});
    return status;
  }
  try {
    keep_ends(plan, rings, ends);
    finish_run(options, plan, before, rings,
               status != 0 ? ends : std::vector<launch::ProcessEnd>());
  } catch (const std::exception& error) {
    // The command's status is worth more than what we have to say of it.
    print_launch_notes("run", {std::string("no summary: ") + error.what()});
  }
  return status;
}

}  // namespace

void add_run(CLI::App& app, Chosen& chosen, std::vector<std::string> command_line) {
  const auto options = std::make_shared<RunOptions>();
  options->command = std::move(command_line);
  CLI::App* const command =
      app.add_subcommand("run", "Run a command with the plugin, then say how it went");
  // CLI11 does not know of the words behind `--`: they are taken off before it looks.
  command->formatter(std::make_shared<HelpFormatter>(" -- COMMAND..."));
  add_place_options(*command, *options);
  add_recording_options(*command, *options);
  options->plan.with_kernels = true;
  command->add_flag_callback(
      "--light", [options] { options->plan.with_kernels = false; },
      "Record no kernel channels with NCCL 2.29.2 and newer, as where only the plugin is loaded");
  command->add_flag("--no-summary", options->no_summary, "Only say where the traces are");
  command
      ->add_option("--top", options->top,
                   "Rows of a table of the summary, those that took most of the time; 0: all")
      ->type_name("ROWS")
      ->capture_default_str();
  auto* const watch = command->add_flag(
      "--watch", options->is_watched,
      "Run `ringside watch` at the same time, with its findings on standard error and "
      "in ringside-watch.jsonl next to the traces");
  command
      ->add_option("--watch-options", options->watch_options,
                   "More options of it, separated by spaces: '--hang-seconds 60 --slurm 4711'. It "
                   "has --job, --dir, --ring-dir, --output and --wait from `ringside run`")
      ->type_name("OPTIONS")
      ->needs(watch);
  constexpr double kMostWait_s = 3600;
  command
      ->add_option("--wait", options->wait_s,
                   "How long to wait for processes that outlive the command; 0: not at all")
      ->check(CLI::Range(0.0, kMostWait_s))
      ->type_name("SECONDS")
      ->capture_default_str();
  command->add_flag("--dry-run", options->dry_run,
                    "Run nothing: print what would be set, as a shell takes it");
  set_command(
      *command, kRunExample,
      {{0,
        "and any other: the status of the command; 128 and the signal's number if a signal ended "
        "it"},
       {125, "the plugin is not found, or the directory cannot be made: nothing was started"},
       {126, "the command cannot be executed"},
       {127, "the command is not found"}},
      options, chosen, run_run);
}

}  // namespace ringside::cli
