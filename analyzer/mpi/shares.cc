// SPDX-License-Identifier: Apache-2.0
#include "analyzer/mpi/shares.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <queue>
#include <utility>

namespace ringside::mpi {

std::vector<int> share_by_size(const std::vector<FileToShare>& files,
                               const std::vector<std::string>& hosts_of_processes) {
  using Load = std::pair<std::uint64_t, int>;  // bytes of a process
  std::map<std::string, std::priority_queue<Load, std::vector<Load>, std::greater<>>> loads;
  for (std::size_t i = 0; i < hosts_of_processes.size(); ++i) {
    const int process = static_cast<int>(i);
    loads[hosts_of_processes[i]].emplace(0, process);
    loads[{}].emplace(0, process);
  }
  std::vector<std::size_t> order(files.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t one, std::size_t other) {
    return files[one].bytes > files[other].bytes;
  });
  std::vector<int> processes(files.size());
  for (const std::size_t i : order) {
    auto& of_host = loads[files[i].host];
    const auto [bytes, process] = of_host.top();
    of_host.pop();
    of_host.emplace(bytes + files[i].bytes, process);
    processes[i] = process;
  }
  return processes;
}

std::vector<int> share_in_order(const std::vector<FileToShare>& files,
                                const std::vector<std::string>& hosts_of_processes) {
  struct OfHost {
    std::vector<int> processes;
    double all_bytes = 0;
    double bytes = 0;  // of the files until then
  };
  std::map<std::string, OfHost> hosts;
  for (std::size_t i = 0; i < hosts_of_processes.size(); ++i) {
    hosts[hosts_of_processes[i]].processes.push_back(static_cast<int>(i));
    hosts[{}].processes.push_back(static_cast<int>(i));
  }
  for (const FileToShare& file : files) {
    hosts[file.host].all_bytes += static_cast<double>(file.bytes);
  }
  std::vector<int> processes;
  for (const FileToShare& file : files) {
    // The process in whose part of all bytes the middle of the file is.
    OfHost& host = hosts[file.host];
    const double middle = host.bytes + static_cast<double>(file.bytes) / 2;
    host.bytes += static_cast<double>(file.bytes);
    const auto count = static_cast<double>(host.processes.size());
    const auto part = static_cast<std::size_t>(
        host.all_bytes > 0 ? std::min(middle / host.all_bytes * count, count - 1) : 0);
    const bool stays = file.follows && !processes.empty();
    processes.push_back(stays ? processes.back() : host.processes[part]);
  }
  return processes;
}

}  // namespace ringside::mpi
