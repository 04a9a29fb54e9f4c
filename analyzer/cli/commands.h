// SPDX-License-Identifier: Apache-2.0
//
// The subcommands, with their options, their help and what they do. Those that print one document
// of an analysis share a file; each other one has its own.
// Results go to stdout, everything else to stderr.
#ifndef RINGSIDE_ANALYZER_CLI_COMMANDS_H
#define RINGSIDE_ANALYZER_CLI_COMMANDS_H

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "analyzer/cli/exit_status.h"
#include "analyzer/cli/help.h"

namespace ringside::cli {

/// The choice of the command line.
using Chosen = std::function<ExitStatus()>;

/// Each adds its command; parsing the command line then sets `chosen` if that is the one.
/// `command`: the words behind `--`.
void add_run(CLI::App& app, Chosen& chosen, std::vector<std::string> command);
void add_env(CLI::App& app, Chosen& chosen);
void add_demo(CLI::App& app, Chosen& chosen);
void add_doctor(CLI::App& app, Chosen& chosen);
void add_ctl(CLI::App& app, Chosen& chosen);
void add_top(CLI::App& app, Chosen& chosen);
void add_watch(CLI::App& app, Chosen& chosen);
void add_exporter(CLI::App& app, Chosen& chosen);
void add_summary(CLI::App& app, Chosen& chosen);
void add_match(CLI::App& app, Chosen& chosen);
void add_calls(CLI::App& app, Chosen& chosen);
void add_communicators(CLI::App& app, Chosen& chosen);
void add_hang(CLI::App& app, Chosen& chosen);
void add_fr(CLI::App& app, Chosen& chosen);
void add_stragglers(CLI::App& app, Chosen& chosen);
void add_what_if(CLI::App& app, Chosen& chosen);
void add_network(CLI::App& app, Chosen& chosen);
void add_overlap(CLI::App& app, Chosen& chosen);
void add_critical_path(CLI::App& app, Chosen& chosen);
void add_iterations(CLI::App& app, Chosen& chosen);
void add_dependencies(CLI::App& app, Chosen& chosen);
void add_compare(CLI::App& app, Chosen& chosen);
void add_merge(CLI::App& app, Chosen& chosen);
void add_query(CLI::App& app, Chosen& chosen);
void add_mcp(CLI::App& app, Chosen& chosen);
void add_export(CLI::App& app, Chosen& chosen);
void add_ras(CLI::App& app, Chosen& chosen);
void add_recover(CLI::App& app, Chosen& chosen);
void add_topology(CLI::App& app, Chosen& chosen);
void add_report(CLI::App& app, Chosen& chosen);
void add_reduce(CLI::App& app, Chosen& chosen);
void add_lint(CLI::App& app, Chosen& chosen);

/// What is wrong with the words behind a command's name, which `add` adds; empty if nothing is.
/// Nothing is run.
std::string trouble_with(const std::string& command, const std::vector<std::string>& words,
                         void (*add)(CLI::App& app, Chosen& chosen));

/// Runs a command as these words behind its name would. Words that it does not take are a bug.
ExitStatus run_words(const std::string& command, const std::vector<std::string>& words,
                     void (*add)(CLI::App& app, Chosen& chosen));

/// Throws CLI::ValidationError if --table is given and the format is not CSV, or if --from is later
/// than --to.
void check_together(const CLI::App& command);

/// Makes `run(*options)` what is done if `command` is chosen. Its footer is `examples`, then its
/// exit statuses.
template <typename Options>
void set_command(CLI::App& command, const std::string& examples,
                 std::initializer_list<StatusMeaning> statuses,
                 const std::shared_ptr<Options>& options, Chosen& chosen,
                 ExitStatus (*run)(const Options&)) {
  command.footer(examples + exit_statuses(statuses));
  command.callback([options, &command, &chosen, run] {
    check_together(command);
    chosen = [options, run] { return run(*options); };
  });
}

}  // namespace ringside::cli

#endif  // RINGSIDE_ANALYZER_CLI_COMMANDS_H
