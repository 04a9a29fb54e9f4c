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

}  // namespace ringside::mpi
