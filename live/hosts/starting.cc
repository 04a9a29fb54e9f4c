// SPDX-License-Identifier: Apache-2.0
#include "live/hosts/starting.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "analyzer/report/document/numbers.h"
#include "launch/process_files.h"

namespace ringside::live {
namespace {

constexpr double kLeastAge_s = 5;

// The value of a variable in /proc/PID/environ; empty if it is not set.
std::string value_of(std::string_view environment, std::string_view name) {
  while (!environment.empty()) {
    const std::string_view entry = environment.substr(0, environment.find('\0'));
    if (entry.starts_with(name) && entry.substr(name.size()).starts_with('=')) {
      return std::string(entry.substr(name.size() + 1));
    }
    environment.remove_prefix(std::min(entry.size() + 1, environment.size()));
  }
  return {};
}

double age_s(std::int64_t pid, double uptime_s) {
  constexpr std::size_t kStart = 19;  // in ticks since boot
  const std::vector<std::string> members = launch::process_stat(pid);
  return members.size() > kStart ? uptime_s - std::atof(members[kStart].c_str()) /
                                                  static_cast<double>(sysconf(_SC_CLK_TCK))
                                 : 0;
}

}  // namespace

std::string StartingRank::text() const {
  return "rank " + rank + " (process " + std::to_string(pid) +
         ") has made no communicator in the " + report::fixed(since_s, 0) +
         " s since it began; `py-spy dump --pid " + std::to_string(pid) + "` shows what it does";
}

std::vector<StartingRank> starting_ranks() {
  namespace fs = std::filesystem;
  std::map<std::pair<std::string, std::string>, StartingRank> starting;  // by job and rank
  std::set<std::pair<std::string, std::string>> have_plugin;
  double uptime_s = 0;
  std::ifstream("/proc/uptime") >> uptime_s;
  std::error_code error;
  for (fs::directory_iterator entry("/proc", error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    std::int64_t pid = 0;
    const auto [last, failure] = std::from_chars(name.data(), name.data() + name.size(), pid);
    struct stat owner {};
    if (failure != std::errc() || *last != '\0' || stat(entry->path().c_str(), &owner) != 0 ||
        owner.st_uid != geteuid()) {
      continue;
    }
    const std::string environment = launch::process_file(pid, "environ");
    if (value_of(environment, "NCCL_PROFILER_PLUGIN").find("ringside") == std::string::npos) {
      continue;
    }
    std::string rank;
    for (const char* const variable :
         {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"}) {
      rank = rank.empty() ? value_of(environment, variable) : rank;
    }
    if (rank.empty()) {
      continue;
    }
    const std::string directory = value_of(environment, "RINGSIDE_DIR");
    const std::pair key(directory, rank);
    if (launch::process_file(pid, "maps").find("libnccl-profiler-ringside") != std::string::npos) {
      have_plugin.insert(key);
      continue;
    }
    // A shell that has started the rank has its variables, too: the youngest is the rank itself. Of
    // two that began within one tick, /proc lists the younger one later.
    const double since_s = age_s(pid, uptime_s);
    StartingRank& found = starting[key];
    if (found.pid == 0 || since_s <= found.since_s) {
      found = {rank, pid, since_s, value_of(environment, "RINGSIDE_JOB"), directory};
    }
  }
  std::vector<StartingRank> ranks;
  for (auto& [key, rank] : starting) {
    if (!have_plugin.contains(key) && rank.since_s >= kLeastAge_s) {
      ranks.push_back(std::move(rank));
    }
  }
  return ranks;
}

}  // namespace ringside::live
