// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <CLI/CLI.hpp>

#include "analyzer/cli/commands.h"

#ifndef RINGSIDE_VERSION
#error "RINGSIDE_VERSION is defined by analyzer/CMakeLists.txt"
#endif

namespace ringside::cli {
namespace {

constexpr char kExitStatuses[] =
    "Exit status:\n"
    "  0   all is well\n"
    "  1   lint: a file has findings; hang: something is stuck\n"
    "  2   the command line is wrong\n"
    "  3   nothing that was named could be read\n"
    "  4   summary --strict: something could not be read, or events were dropped\n"
    "  70  a bug in ringside, or the output cannot be written\n";

constexpr char kSummaryExample[] =
    "Examples:\n"
    "  ringside summary traces/                          all traces of a directory\n"
    "  ringside summary --format json traces/ > out.json for a script\n"
    "  ringside summary --strict a.json b.json           fail if anything is not whole\n"
    "\n"
    "Results go to standard output, everything else to standard error.\n"
    "docs/metrics.md defines each figure.\n"
    "\n";

constexpr char kRecoverExample[] =
    "After a process has died, its rings outlive it in memory (RINGSIDE_RING_DIR, /dev/shm), as "
    "long\n"
    "as the machine or container lives. What they hold is added to the trace that the process had\n"
    "begun, in its place, and the rings are removed. Run it on every node of the job.\n"
    "\n"
    "Examples:\n"
    "  ringside recover                            all that is left over in /dev/shm\n"
    "  ringside recover --keep --output /tmp/look  copies, and nothing is changed\n"
    "  ringside recover --running /dev/shm         also of processes that live: a copy of the "
    "moment\n"
    "\n"
    "Exit status:\n"
    "  0   all that was left over is recovered, or there was nothing\n"
    "  1   something could not be recovered\n"
    "  2   the command line is wrong\n"
    "  3   a directory that was named is not there\n"
    "  70  a bug in ringside, or the output cannot be written\n";

constexpr char kLintExample[] =
    "Examples:\n"
    "  ringside lint traces/              all traces of a directory\n"
    "  ringside lint --closed run.json    a file that was not closed is a finding\n"
    "  ringside lint --rules              what is checked\n"
    "\n";

constexpr char kHangExample[] =
    "Traces of a job that hangs do not hold what is in flight; dumps do (ringside_dump), and so "
    "do\n"
    "traces that `ringside recover` or the end of the process has closed.\n"
    "\n"
    "Examples:\n"
    "  ringside hang traces/                     who has not joined, and who waits for whom\n"
    "  ringside hang --min-age 30 traces/        only what has waited for half a minute\n"
    "  ringside hang --format json traces/ | jq '.sentences[]'\n"
    "\n"
    "Exit status 1: something is stuck; 0: nothing is seen to be.\n"
    "\n";

constexpr char kNetworkExample[] =
    "Record with RINGSIDE_EVENTS=default,steps: only steps tell waiting from transferring.\n"
    "\n"
    "Examples:\n"
    "  ringside network traces/                       slow links, waiting, and the matrix\n"
    "  ringside network --top 0 --format csv traces/  all links, for a script\n"
    "  ringside network --format csv --table matrix traces/\n"
    "\n";

void add_summary(CLI::App& app, SummaryOptions& options) {
  CLI::App* const command = app.add_subcommand(
      "summary", "Match the operations of all ranks; say how many, how long and how fast");
  command->add_option("DIR_OR_FILE", options.inputs, "Directories with traces, or trace files")
      ->required();
  command->add_option("--format", options.format, "table, json, csv or markdown")
      ->check(CLI::IsMember({"table", "json", "csv", "markdown"}))
      ->capture_default_str();
  command->add_flag("--strict", options.is_strict,
                    "Exit with 4 if a line or file could not be read, or events were dropped");
  command->footer(std::string(kSummaryExample) + kExitStatuses);
}

void add_lint(CLI::App& app, LintOptions& options) {
  CLI::App* const command =
      app.add_subcommand("lint", "Check trace files against the format and what Perfetto demands");
  command->add_option("DIR_OR_FILE", options.inputs, "Directories with traces, or trace files");
  command->add_flag("--closed", options.must_be_closed, "A file that was not closed is a finding");
  command->add_flag("--rules", options.list_rules, "List the rules and exit");
  command->footer(std::string(kLintExample) + kExitStatuses);
}

void add_recover(CLI::App& app, RecoverOptions& options) {
  CLI::App* const command = app.add_subcommand(
      "recover", "Make whole traces of processes that died, from the rings that they left");
  command
      ->add_option(
          "DIR", options.inputs,
          "Ring directories (ringside.*.rings), a file in one, or directories that hold some")
      ->capture_default_str();
  command->add_option("--output", options.output_directory,
                      "Write the traces into this directory, not in place of those begun");
  command->add_flag("--keep", options.keep, "Do not remove what has been recovered");
  command->add_flag("--running", options.also_running,
                    "Also of processes that live: into NAME.recovered.json, removing nothing");
  command->footer(kRecoverExample);
}

void add_hang(CLI::App& app, HangOptions& options) {
  CLI::App* const command = app.add_subcommand(
      "hang", "Say what is stuck, who has not joined it, and who waits for whom");
  command->add_option("DIR_OR_FILE", options.inputs, "Directories with traces, or trace files")
      ->required();
  command->add_option("--format", options.format, "table, json, csv or markdown")
      ->check(CLI::IsMember({"table", "json", "csv", "markdown"}))
      ->capture_default_str();
  command
      ->add_option("--table", options.table,
                   "The table of csv: stuck (default), waits, network or ranks")
      ->check(CLI::IsMember({"stuck", "waits", "network", "ranks"}));
  command
      ->add_option("--min-age", options.min_age_s,
                   "Seconds for which a rank must have waited in an operation")
      ->check(CLI::Range(0.0, 1e9))
      ->capture_default_str();
  command->add_option("--top", options.top, "Rows of each table at most; 0: all")
      ->capture_default_str();
  command->add_flag("--no-align", options.must_not_align, "Believe the clocks of the hosts");
  command->footer(std::string(kHangExample) + kExitStatuses);
}

void add_network(CLI::App& app, NetworkOptions& options) {
  CLI::App* const command = app.add_subcommand(
      "network", "Say how fast each link was, what it waited for, and which stand out as slow");
  command->add_option("DIR_OR_FILE", options.inputs, "Directories with traces, or trace files")
      ->required();
  command->add_option("--format", options.format, "table, json, csv or markdown")
      ->check(CLI::IsMember({"table", "json", "csv", "markdown"}))
      ->capture_default_str();
  command->add_option("--table", options.table, "The table of csv: links (default) or matrix")
      ->check(CLI::IsMember({"links", "matrix"}));
  command->add_option("--top", options.top, "Links that are listed at most; 0: all")
      ->capture_default_str();
  command->footer(std::string(kNetworkExample) + kExitStatuses);
}

// Says what is wrong with the command line, and where to read on.
std::string usage_error(const CLI::App* app, const CLI::Error& error) {
  const auto used = app->get_subcommands();
  const std::string command = used.empty() ? "ringside" : "ringside " + used.front()->get_name();
  return command + ": " + error.what() + "\nTry `" + command + " --help`.\n";
}

bool is_unknown_command(const CLI::App& app, std::string_view word) {
  if (word.starts_with('-')) {
    return false;
  }
  for (const CLI::App* const command : app.get_subcommands({})) {
    if (command->get_name() == word) {
      return false;
    }
  }
  return true;
}

}  // namespace

ExitStatus run(int argc, char** argv) {
  CLI::App app("Ringside's analyzer: puts the NCCL traces of all ranks together.", "ringside");
  SummaryOptions summary;
  LintOptions lint;
  RecoverOptions recover;
  HangOptions hang;
  NetworkOptions network;
  app.set_version_flag("--version", "ringside " RINGSIDE_VERSION);
  app.require_subcommand(1);
  add_summary(app, summary);
  add_lint(app, lint);
  add_recover(app, recover);
  add_hang(app, hang);
  add_network(app, network);
  app.footer(std::string("Example: run the job with the plugin and RINGSIDE_DIR=traces, then\n"
                         "  ringside summary traces/\n"
                         "`ringside COMMAND --help` says more about a command.\n\n") +
             kExitStatuses);
  app.failure_message(usage_error);
  if (argc > 1 && is_unknown_command(app, argv[1])) {
    std::fprintf(
        stderr,
        "ringside: there is no command \"%s\"; the commands are summary, lint, recover, hang "
        "and network.\n"
        "Try `ringside --help`.\n",
        argv[1]);
    return kExitUsage;
  }
  try {
    app.parse(argc, argv);
    if (app.got_subcommand("lint") && lint.inputs.empty() && !lint.list_rules) {
      throw CLI::RequiredError("DIR_OR_FILE");
    }
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitOk : kExitUsage;
  }
  if (app.got_subcommand("hang")) {
    return run_hang(hang);
  }
  if (app.got_subcommand("network")) {
    return run_network(network);
  }
  if (app.got_subcommand("recover")) {
    return run_recover(recover);
  }
  return app.got_subcommand("lint") ? run_lint(lint) : run_summary(summary);
}

}  // namespace ringside::cli
