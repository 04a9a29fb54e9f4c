// SPDX-License-Identifier: Apache-2.0
#include "live/hosts/starting.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "analyzer/report/document/numbers.h"

namespace ringside::live {
namespace {

constexpr double kLeastAge_s = 5;

std::string content(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

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

double age_s(const std::filesystem::path& process) {
  constexpr int kBetween = 19;  // the state, and what stands before the moment of the start
  const std::string stat = content(process / "stat");
  const std::size_t name_end = stat.rfind(')');
  std::istringstream fields(name_end == std::string::npos ? "" : stat.substr(name_end + 1));
  std::string skipped;
  for (int i = 0; i < kBetween; ++i) {
    fields >> skipped;
  }
  double start_ticks = 0;
  double uptime_s = 0;
  std::ifstream uptime("/proc/uptime");
  return fields >> start_ticks && uptime >> uptime_s
             ? uptime_s - start_ticks / static_cast<double>(sysconf(_SC_CLK_TCK))
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
  std::map<std::pair<std::string, std::string>, bool> has_plugin;
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
    const std::string environment = content(entry->path() / "environ");
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
    if (content(entry->path() / "maps").find("libnccl-profiler-ringside") != std::string::npos) {
      has_plugin[key] = true;
      continue;
    }
    // A shell that has started the rank has its variables, too: the youngest is the rank itself.
    const double since_s = age_s(entry->path());
    StartingRank& found = starting[key];
    if (found.pid == 0 || since_s < found.since_s) {
      found = {rank, pid, since_s, value_of(environment, "RINGSIDE_JOB"), directory};
    }
  }
  std::vector<StartingRank> ranks;
  for (auto& [key, rank] : starting) {
    if (!has_plugin.contains(key) && rank.since_s >= kLeastAge_s) {
      ranks.push_back(std::move(rank));
    }
  }
  return ranks;
}

}  // namespace ringside::live
