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

#include "launch/process_files.h"

namespace ringside::live {
namespace {

constexpr double kLeastAge_s = 5;

bool names_plugin(std::string_view environment) {
  return launch::variable_in(environment, "NCCL_PROFILER_PLUGIN").find("ringside") !=
         std::string::npos;
}

constexpr std::size_t kStart = 19;  // of process_stat(): in ticks since boot

double age_s(const std::vector<std::string>& members, double uptime_s) {
  return uptime_s - std::atof(members[kStart].c_str()) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

}  // namespace

bool has_plugin_variable(std::int64_t pid) {
  return names_plugin(launch::process_file(pid, "environ"));
}

std::vector<StartingRank> starting_ranks() {
  namespace fs = std::filesystem;
  struct Candidate {
    StartingRank rank;
    std::int64_t parent = 0;
    std::string likeness;  // its program and RANK, which a launcher such as torchrun does not have
    bool is_launcher = false;
  };
  std::map<std::int64_t, Candidate> candidates;
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
    const std::vector<std::string> members = launch::process_stat(pid);
    const std::string rank = launch::rank_in(environment);
    std::error_code unread;
    if (names_plugin(environment) && !rank.empty() && members.size() > kStart) {
      candidates[pid] = {
          {rank, pid, age_s(members, uptime_s), launch::variable_in(environment, "RINGSIDE_JOB"),
           launch::variable_in(environment, "RINGSIDE_DIR"), ""},
          std::atoll(members[1].c_str()),
          fs::read_symlink(entry->path() / "exe", unread).string() + ' ' +
              launch::variable_in(environment, "RANK")};
    }
  }
  // What Slurm numbers may be a launcher, such as torchrun, whose ranks have other numbers.
  for (const auto& [pid, candidate] : candidates) {
    for (auto above = candidates.find(candidate.parent); above != candidates.end();
         above = candidates.find(above->second.parent)) {
      above->second.is_launcher =
          above->second.is_launcher || above->second.rank.rank != candidate.rank.rank;
    }
  }
  // A rank's own child process, such as a worker of its data loader, runs the same program.
  const auto is_worker = [&](const Candidate& candidate) {
    const auto parent = candidates.find(candidate.parent);
    return parent != candidates.end() && parent->second.likeness == candidate.likeness &&
           parent->second.rank.rank == candidate.rank.rank;
  };
  std::map<std::pair<std::string, std::string>, StartingRank> starting;  // by job and rank
  std::set<std::pair<std::string, std::string>> have_plugin;
  for (const auto& [pid, candidate] : candidates) {
    const StartingRank& rank = candidate.rank;
    const std::pair key(rank.directory, rank.rank);
    if (launch::process_file(pid, "maps").find("libnccl-profiler-ringside") != std::string::npos) {
      have_plugin.insert(key);
    } else if (!candidate.is_launcher && !is_worker(candidate)) {
      // A shell that has started the rank has its variables, too: the youngest is the rank itself.
      // Of two that began within one tick, that with the larger number.
      StartingRank& found = starting[key];
      found = found.pid == 0 || rank.since_s <= found.since_s ? rank : found;
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
