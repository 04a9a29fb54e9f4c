// SPDX-License-Identifier: Apache-2.0
//
// The hosts of a job, and how a program is started on one of them.
#ifndef RINGSIDE_LIVE_HOSTS_HOSTS_H
#define RINGSIDE_LIVE_HOSTS_HOSTS_H

#include <chrono>
#include <cstddef>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "live/hosts/slow_hosts.h"

namespace ringside::live {

struct HostOptions {
  std::string hosts;      ///< a file with a host a line, or "-" for standard input
  bool ssh = false;       ///< start it by ssh
  std::string slurm;      ///< the number of a Slurm job
  std::string kubectl;    ///< a selector of pods
  std::string exec;       ///< a command that starts what follows it on {host}
  std::string program;    ///< ringside's path there; empty: as this one's
  double timeout_s = 15;  ///< for the whole answer of a host
  std::size_t most_at_once = 64;

  bool are_given() const {
    return !hosts.empty() || ssh || !slurm.empty() || !kubectl.empty() || !exec.empty();
  }
};

struct Hosts {
  std::vector<std::string> names;  ///< each once
  std::string start;               ///< for a shell, with {host}
  std::string program;             ///< ringside's path there, as a word for the shell
  std::chrono::milliseconds timeout{15000};
  std::size_t most_at_once = 64;
  /// For who looks again and again: a host that was late is not waited for at the next look.
  std::shared_ptr<SlowHosts> slow;
  std::stop_token stop;  ///< ends what is asked of them, without an answer

  /// The shell's command that starts ringside on a host, with these arguments.
  std::string command(const std::string& host, const char* arguments = "ctl relay") const;
};

/// What is wrong with the options, where some are given; empty if nothing is.
std::string trouble_with(const HostOptions& options);

/// Finds the hosts, of a Slurm job and of pods by asking squeue, scontrol or kubectl. `error` is
/// why there are none.
Hosts find_hosts(const HostOptions& options, std::string& error);

/// This host, without a name: it is asked by a process of its own, as the others are.
Hosts this_host();

}  // namespace ringside::live

#endif  // RINGSIDE_LIVE_HOSTS_HOSTS_H
