// SPDX-License-Identifier: Apache-2.0
//
// The ring directories of the processes that one `ringside run` has started, directly or through
// others, on this machine.
#ifndef RINGSIDE_ANALYZER_LAUNCH_JOB_RINGS_H
#define RINGSIDE_ANALYZER_LAUNCH_JOB_RINGS_H

#include <set>
#include <string>
#include <sys/types.h>
#include <vector>

#include "launch/plan.h"

namespace ringside::launch {

/// Set for the command: its processes inherit it, and the processes of another run that has the
/// same job name and directory have another value. The plugin does not read it.
inline constexpr char kLaunchVariable[] = "RINGSIDE_LAUNCH";

class JobRings {
 public:
  /// Ring directories that exist already belong to others. `plan` must outlive this.
  explicit JobRings(const Plan& plan);

  /// A word that no other run has.
  const std::string& launch() const { return launch_; }
  /// kLaunchVariable with the value of this run.
  Variable variable() const { return {kLaunchVariable, launch_}; }

  /// The processes of this job that hold rings now; 0 stands for one in another PID namespace.
  std::vector<pid_t> living();

  /// Names of new ring directories that no process holds, and that were seen to be this job's or
  /// are called like them.
  std::vector<std::string> left_over() const;
  /// Whether living() has seen a process of this job hold it.
  bool is_known(const std::string& name) const { return own_.count(name) != 0; }

 private:
  std::vector<std::string> new_names() const;
  bool is_named(const std::string& name) const;
  bool is_own(const std::string& name, pid_t pid) const;

  const Plan& plan_;
  std::set<std::string> before_;
  std::string launch_;
  std::set<std::string> own_;
};

}  // namespace ringside::launch

#endif  // RINGSIDE_ANALYZER_LAUNCH_JOB_RINGS_H
