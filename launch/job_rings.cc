// SPDX-License-Identifier: Apache-2.0
#include "launch/job_rings.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <random>
#include <sys/stat.h>
#include <unistd.h>

#include "launch/files.h"
#include "launch/process_files.h"
#include "launch/ring_holder.h"
#include "plugin/journal/journal_format.h"

namespace ringside::launch {
namespace {

std::set<std::string> ring_names(const std::string& parent) {
  // Without a directory the rings are in anonymous memory.
  return parent.empty() ? std::set<std::string>() : names_with_prefix(parent, "ringside.");
}

// With the process id it is unique on this machine; with the random number also in containers.
std::string new_launch() {
  std::random_device random;
  return std::to_string(getpid()) + '-' + std::to_string(random());
}

std::string stem_of(const std::string& name) {
  return name.substr(0, name.rfind('.') + 1);
}

}  // namespace

JobRings::JobRings(const Plan& plan)
    : plan_(plan), before_(ring_names(plan.ring_directory)), launch_(new_launch()) {}

std::vector<std::string> JobRings::new_names() const {
  std::vector<std::string> added;
  for (const std::string& name : ring_names(plan_.ring_directory)) {
    if (name.ends_with(journal::kRingsSuffix) && before_.count(name) == 0) {
      added.push_back(name);
    }
  }
  return added;
}

// The rings of this job by their name, and this user's. Others may call theirs as they like.
bool JobRings::is_named(const std::string& name) const {
  struct stat about {};
  return name.starts_with(name_prefix(plan_.job)) &&
         lstat((plan_.ring_directory + "/" + name).c_str(), &about) == 0 &&
         about.st_uid == geteuid();
}

// A process that has written over its environment, or that cannot be looked at, is known by its
// job's name and by the trace that it has begun.
bool JobRings::is_own(const std::string& name, pid_t pid) const {
  const std::string launch =
      pid > 0 ? variable_in(process_file(pid, "environ"), kLaunchVariable) : std::string();
  if (!launch.empty()) {
    return launch == launch_;
  }
  return is_named(name) && !names_with_prefix(plan_.directory, stem_of(name)).empty();
}

std::vector<pid_t> JobRings::living() {
  std::vector<pid_t> pids;
  for (const std::string& name : new_names()) {
    const RingHolder holder = holder_of(plan_.ring_directory + "/" + name);
    if (holder.state == RingHolder::State::kLives &&
        (own_.count(name) != 0 || is_own(name, holder.pid))) {
      own_.insert(name);
      pids.push_back(holder.pid);
    }
  }
  return pids;
}

std::vector<std::string> JobRings::left_over() const {
  std::vector<std::string> names = new_names();
  names.erase(std::remove_if(names.begin(), names.end(),
                             [&](const std::string& name) {
                               return (own_.count(name) == 0 && !is_named(name)) ||
                                      holder_of(plan_.ring_directory + "/" + name).state ==
                                          RingHolder::State::kLives;
                             }),
              names.end());
  return names;
}

}  // namespace ringside::launch
