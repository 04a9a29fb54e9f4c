// SPDX-License-Identifier: Apache-2.0
//
// `ctl` and `top` share this: the options that say which processes are meant.
#ifndef RINGSIDE_ANALYZER_CLI_LIVE_LIVE_H
#define RINGSIDE_ANALYZER_CLI_LIVE_LIVE_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/cli/exit_status.h"
#include "live/choose.h"
#include "live/watch/watcher.h"

namespace CLI {
class App;
}

namespace ringside::cli {

struct LiveOptions {
  live::Choice choice;
  live::HostOptions hosts;
  double timeout_s = 5;
  std::string format = "table";

  std::chrono::milliseconds timeout() const;
  /// Whether the command line says which processes are meant, or where they are.
  bool are_given() const;
};

/// --pid, --dir, --job, --all, --ring-dir and --timeout.
void add_process_options(CLI::App& command, LiveOptions& options);

/// These, and --format and those of the hosts.
void add_live_options(CLI::App& command, LiveOptions& options);

/// --hosts, --ssh, --slurm, --kubectl, --exec and how they are asked.
void add_host_options(CLI::App& command, live::HostOptions& options);

/// An option of seconds, from `least` to a month.
void add_seconds(CLI::App& command, const char* name, double& value, double least,
                 const char* description);

/// --hang-seconds, --late-percent, --window and --interval: what is wrong, and how often is looked.
void add_watch_limits(CLI::App& command, live::Watcher::Options& limits, double& interval_s);

/// The wall clock, in ns since the epoch.
std::int64_t now_realtime_ns();

ExitStatus status_of(live::Chosen::How how);

/// The processes that are meant, with their status. All that is wrong, or worth knowing, goes to
/// stderr; `status` is what the command has to end with if it cannot go on, else kExitOk.
std::vector<live::Reply> choose_processes(const live::Choice& choice, const LiveOptions& options,
                                          const char* command, ExitStatus& status);
/// Takes from the environment what the command line leaves open, of this host's processes.
void complete_choice(live::Choice& choice);

/// The options' choice, complete, with the hosts of the cluster. Nothing, and why in `error`, if
/// the hosts are not to be found.
std::optional<live::Choice> find_choice(const LiveOptions& options, std::string& error);
/// The same; a line of stderr says why.
std::optional<live::Choice> completed_choice(const LiveOptions& options, const char* command);

/// A line of stderr for each that has failed.
void print_failures(const std::vector<live::Reply>& replies, const char* command);

inline constexpr std::initializer_list<StatusMeaning> kLiveExitStatuses = {
    {0, "all processes have carried out the request"},
    {1, "some have not; each has a line on standard error"},
    {2, "the command line is wrong, or does not select one of several jobs"},
    {3, "no process was found"}};

}  // namespace ringside::cli

#endif  // RINGSIDE_ANALYZER_CLI_LIVE_LIVE_H
