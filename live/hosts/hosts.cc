// SPDX-License-Identifier: Apache-2.0
#include "live/hosts/hosts.h"

#include <algorithm>
#include <fstream>
#include <iostream>
#include <set>
#include <sstream>
#include <string_view>
#include <unistd.h>
#include <utility>

#include "launch/files.h"
#include "launch/text.h"
#include "live/hosts/running_command.h"

namespace ringside::live {
namespace {

constexpr std::string_view kHost = "{host}";

// The first word of each line: files of hosts for mpirun have more behind it ("node1 slots=8").
std::vector<std::string> first_words(std::istream& lines) {
  std::vector<std::string> words;
  std::set<std::string> known;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream text(line.substr(0, line.find('#')));
    std::string word;
    if (text >> word && known.insert(word).second) {
      words.push_back(word);
    }
  }
  return words;
}

// The answer of a command of the cluster, a host a line.
std::vector<std::string> hosts_of_command(const std::string& command, std::string& error) {
  constexpr std::chrono::milliseconds kTimeout(30000);
  std::vector<HostCommand> commands(1);
  commands[0].command = command;
  run_all(commands, 1, kTimeout);
  std::istringstream output(commands[0].output);
  std::vector<std::string> names = first_words(output);
  if (!commands[0].error.empty()) {
    error = "`" + command + "` " + commands[0].error;
  } else if (names.empty()) {
    error = "`" + command + "` names no host";
  }
  return names;
}

std::vector<std::string> hosts_of_file(const std::string& path, std::string& error) {
  std::ifstream file(path);
  std::vector<std::string> names = first_words(path == "-" ? std::cin : file);
  if (path != "-" && !file.is_open()) {
    error = path + " cannot be read; --hosts takes a file with a host on each line";
  } else if (names.empty()) {
    error = (path == "-" ? "standard input" : path) + " has no host";
  }
  return names;
}

// A command of the user may hand a name on to further shells, as `sh -c "... {host}"` does, and no
// quotes hold in all of them. So a name has no letter that any shell knows. "@" is of ssh
// (user@node1), "/" of kubectl (pod/trainer-0). One that begins with "-" would be an option.
std::string strange_name(const std::vector<std::string>& names) {
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:-@/";
  const auto found = std::find_if(names.begin(), names.end(), [&](const std::string& name) {
    return name.starts_with('-') || name.find_first_not_of(kLetters) != std::string::npos;
  });
  return found == names.end() ? ""
                              : "'" + launch::printable(*found) +
                                    "' is no name of a host: it may have letters, digits and "
                                    "._:-@/, and does not begin with -";
}

std::string own_program() {
  std::string path(4096, '\0');
  const ssize_t size = readlink("/proc/self/exe", path.data(), path.size());
  path.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return size > 0 ? path : "ringside";
}

std::string start_of(const HostOptions& options) {
  return options.ssh              ? "ssh -o BatchMode=yes -o ConnectTimeout=10 {host}"
         : !options.slurm.empty() ? "srun --jobid " + options.slurm +
                                        " --overlap --nodes 1 --ntasks 1 --quiet --nodelist {host}"
         : !options.kubectl.empty() ? "kubectl exec --stdin {host} --"
                                    : options.exec;
}

}  // namespace

std::string Hosts::command(const std::string& host, const char* arguments) const {
  std::string made = start + ' ' + program + ' ' + arguments;
  const std::string word = launch::shell_word(host);
  for (std::size_t at = made.find(kHost); at != std::string::npos;
       at = made.find(kHost, at + word.size())) {
    made.replace(at, kHost.size(), word);
  }
  return made;
}

std::string trouble_with(const HostOptions& options) {
  const int ways = (options.ssh ? 1 : 0) + (options.slurm.empty() ? 0 : 1) +
                   (options.kubectl.empty() ? 0 : 1) + (options.exec.empty() ? 0 : 1);
  if (ways != 1) {
    return ways == 0 ? "--hosts needs --ssh or --exec: how to get there"
                     : "give one of --ssh, --slurm, --kubectl and --exec";
  }
  if (options.hosts.empty() && options.slurm.empty() && options.kubectl.empty()) {
    return "--ssh and --exec need --hosts FILE, with a host on each line";
  }
  if (options.slurm.find_first_not_of("0123456789") != std::string::npos) {
    return "--slurm " + launch::printable(options.slurm) + ": not the number of a job";
  }
  if (!options.exec.empty() && options.exec.find(kHost) == std::string::npos) {
    return "--exec has no {host} in it, so that it would ask the same host each time";
  }
  return "";
}

Hosts find_hosts(const HostOptions& options, std::string& error) {
  Hosts hosts;
  error = trouble_with(options);
  if (!error.empty()) {
    return hosts;
  }
  hosts.names = !options.hosts.empty() ? hosts_of_file(options.hosts, error)
                : !options.slurm.empty()
                    ? hosts_of_command("hosts=$(squeue --noheader --jobs " + options.slurm +
                                           " --format %N) && scontrol show hostnames \"$hosts\"",
                                       error)
                    : hosts_of_command(
                          "kubectl get pods --field-selector status.phase=Running --output "
                          "name --selector " +
                              launch::shell_word(options.kubectl),
                          error);
  if (error.empty()) {
    error = strange_name(hosts.names);
  }
  // A pod has a file system of its own; a cluster's nodes mostly share that of its programs.
  hosts.program = launch::shell_word(!options.program.empty()   ? options.program
                                     : !options.kubectl.empty() ? "ringside"
                                                                : own_program());
  if (options.ssh) {
    hosts.program = launch::shell_word(hosts.program);  // the shell there reads it once more
  }
  hosts.start = start_of(options);
  hosts.timeout = std::chrono::milliseconds(static_cast<std::int64_t>(options.timeout_s * 1000));
  hosts.most_at_once = options.most_at_once;
  return hosts;
}

Hosts this_host() {
  Hosts hosts;
  hosts.names = {""};
  hosts.program = launch::shell_word(own_program());
  return hosts;
}

}  // namespace ringside::live
