// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/live/live.h"

#include <chrono>
#include <filesystem>

#include <CLI/CLI.hpp>

#include "analyzer/cli/launch.h"
#include "live/hosts/running_command.h"
#include "plugin/journal/journal_format.h"

namespace ringside::cli {

std::chrono::milliseconds LiveOptions::timeout() const {
  return std::chrono::milliseconds(static_cast<std::int64_t>(timeout_s * 1000));
}

std::int64_t now_realtime_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

ExitStatus status_of(live::Chosen::How how) {
  return how == live::Chosen::How::kFound    ? kExitOk
         : how == live::Chosen::How::kNobody ? kExitNoInput
                                             : kExitUsage;
}

bool LiveOptions::are_given() const {
  return hosts.are_given() || choice.all || !choice.pids.empty() || !choice.directory.empty() ||
         !choice.job.empty() || !choice.ring_directory.empty();
}

void add_process_options(CLI::App& command, LiveOptions& options) {
  constexpr std::int64_t kMostPid = std::int64_t{1} << 22;  // PID_MAX_LIMIT of the kernel
  command
      .add_option("--pid", options.choice.pids, "Only these processes; may be given several times")
      ->check(CLI::Range(std::int64_t{1}, kMostPid).description(""))
      ->type_name("PID")
      ->allow_extra_args(false);
  command
      .add_option("--dir", options.choice.directory,
                  "Only processes that write their traces into this directory")
      ->type_name("DIR");
  command.add_option("--job", options.choice.job, "Only processes of the job of this name")
      ->type_name("NAME");
  command.add_flag("--all", options.choice.all, "All processes of this user");
  command
      .add_option("--ring-dir", options.choice.ring_directory,
                  "Directory of the processes' rings and sockets (default: RINGSIDE_RING_DIR, else "
                  "/dev/shm, and TMPDIR, else /tmp)")
      ->type_name("DIR");
  constexpr double kLeast_s = 0.01;
  constexpr double kMost_s = 3600;
  command
      .add_option("--timeout", options.timeout_s,
                  "Seconds to wait for an answer; a large dump takes longer")
      ->type_name("SECONDS")
      ->check(CLI::Range(kLeast_s, kMost_s))
      ->capture_default_str();
}

void add_live_options(CLI::App& command, LiveOptions& options) {
  add_process_options(command, options);
  command.add_option("--format", options.format, "table or json")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"table", "json"}))
      ->capture_default_str();
  add_host_options(command, options.hosts);
}

void add_host_options(CLI::App& command, live::HostOptions& options) {
  command.parse_complete_callback([&command, &options] {
    std::string trouble;
    if (options.are_given()) {
      trouble = live::trouble_with(options);
    } else {
      for (const char* const name : {"--remote-program", "--host-timeout", "--hosts-at-once"}) {
        if (command.count(name) > 0) {
          trouble =
              std::string(name) + " is for other hosts: name them by --hosts, --slurm or --kubectl";
        }
      }
    }
    if (!trouble.empty()) {
      throw CLI::ValidationError(trouble);
    }
  });
  constexpr char kGroup[] = "On several hosts";
  command
      .add_option("--hosts", options.hosts,
                  "A file with a host on each line; -: standard input. The first word of each line "
                  "counts, as in a hostfile of mpirun")
      ->type_name("FILE")
      ->group(kGroup);
  command.add_flag("--ssh", options.ssh, "Go to these hosts by ssh, without a password")
      ->group(kGroup);
  command
      .add_option("--slurm", options.slurm,
                  "The hosts of this Slurm job, as squeue names them, by srun --overlap")
      ->type_name("JOBID")
      ->group(kGroup);
  command
      .add_option("--kubectl", options.kubectl,
                  "The running pods of this selector, by kubectl exec (app=trainer)")
      ->type_name("SELECTOR")
      ->group(kGroup);
  command
      .add_option("--exec", options.exec,
                  "Go to the hosts by this shell command, which runs what follows it on {host}: "
                  "'pdsh -N -w {host}'")
      ->type_name("COMMAND")
      ->group(kGroup);
  command
      .add_option("--remote-program", options.program,
                  "ringside there (default: the path of this one; in pods, ringside)")
      ->type_name("PATH")
      ->group(kGroup);
  constexpr double kLeast_s = 0.1;
  constexpr double kMost_s = 3600;
  command
      .add_option("--host-timeout", options.timeout_s,
                  "Seconds to wait for a host; one that is late is named, and the others count")
      ->type_name("SECONDS")
      ->check(CLI::Range(kLeast_s, kMost_s))
      ->capture_default_str()
      ->group(kGroup);
  constexpr std::size_t kMostAtOnce = 1024;
  command.add_option("--hosts-at-once", options.most_at_once, "Hosts that are asked at one time")
      ->type_name("COUNT")
      ->check(CLI::Range(std::size_t{1}, kMostAtOnce))
      ->capture_default_str()
      ->group(kGroup);
}

void add_seconds(CLI::App& command, const char* name, double& value, double least,
                 const char* description) {
  constexpr double kMost_s = 2592000;
  command.add_option(name, value, description)
      ->type_name("SECONDS")
      ->check(CLI::Range(least, kMost_s))
      ->capture_default_str();
}

void add_watch_limits(CLI::App& command, live::Watcher::Options& limits, double& interval_s) {
  add_seconds(command, "--hang-seconds", limits.hang_s, 1,
              "An operation that is in flight for so long is stuck");
  command
      .add_option("--late-percent", limits.late_percent,
                  "Report late ranks that cost at least this share of the job's time")
      ->type_name("PERCENT")
      ->check(CLI::Range(0.1, 100.0))
      ->capture_default_str();
  add_seconds(command, "--window", limits.window_s, 1,
              "Time over which lateness is measured; two windows, one after the other, must agree");
  add_seconds(command, "--interval", interval_s, 0.1, "From one look to the next");
}

void complete_choice(live::Choice& choice) {
  if (choice.ring_directory.empty() && !choice.hosts) {
    const char* const variable = get_variable("RINGSIDE_RING_DIR");
    choice.ring_directory = variable != nullptr && *variable != '\0' ? variable : "/dev/shm";
    choice.control_parent = journal::control_parent();
  }
  if (!choice.directory.empty()) {
    std::error_code error;
    const auto absolute = std::filesystem::absolute(choice.directory, error).lexically_normal();
    choice.directory = error ? choice.directory : absolute.string();
  }
}

std::optional<live::Choice> find_choice(const LiveOptions& options, std::string& error) {
  live::Choice choice = options.choice;
  if (options.hosts.are_given()) {
    error.clear();
    choice.hosts = live::find_hosts(options.hosts, error);
    if (!error.empty()) {
      return std::nullopt;
    }
    choice.likely_job = options.hosts.slurm;
  }
  live::end_commands_with_this_process();
  complete_choice(choice);
  return choice;
}

std::optional<live::Choice> completed_choice(const LiveOptions& options, const char* command) {
  std::string error;
  auto choice = find_choice(options, error);
  if (!choice) {
    print_launch_notes(command, {error});
  }
  return choice;
}

std::vector<live::Reply> choose_processes(const live::Choice& choice, const LiveOptions& options,
                                          const char* command, ExitStatus& status) {
  live::Chosen chosen = live::choose(choice, options.timeout());
  print_launch_notes(command, chosen.notes);
  status = status_of(chosen.how);
  return std::move(chosen.replies);
}

void print_failures(const std::vector<live::Reply>& replies, const char* command) {
  std::vector<std::string> lines;
  for (const live::Reply& reply : replies) {
    if (!reply.error.empty()) {
      lines.push_back((reply.endpoint.path.empty()
                           ? std::string()
                           : "process " + std::to_string(reply.endpoint.pid) + " (" +
                                 reply.endpoint.place() + "): ") +
                      reply.error);
    }
  }
  print_launch_notes(command, lines);
}

}  // namespace ringside::cli
