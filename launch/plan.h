// SPDX-License-Identifier: Apache-2.0
//
// Plans a job's environment, so that NCCL loads the plugin and all ranks write to one place.
#ifndef RINGSIDE_ANALYZER_LAUNCH_PLAN_H
#define RINGSIDE_ANALYZER_LAUNCH_PLAN_H

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "launch/nccl.h"
#include "launch/text.h"

namespace ringside::launch {

/// A variable's value or NULL, as getenv does.
using GetVariable = std::function<const char*(const char*)>;

/// From the command line; "" where not given.
struct PlanOptions {
  std::string directory;
  std::string plugin;
  std::string events;     ///< a list that RINGSIDE_EVENTS takes
  std::string sample;     ///< a value that RINGSIDE_SAMPLE takes
  std::string markers;    ///< what RINGSIDE_MARKERS takes
  double duration_s = 0;  ///< 0: to the end
  bool start_off = false;
  bool with_kernels = false;  ///< kernel channels, too, where that can be made safe
};

struct Plan {
  std::string error;   ///< what is in the way; the rest is then not to be used
  std::string plugin;  ///< absolute
  /// The traces' directory, absolute: that of --dir or RINGSIDE_DIR, which may exist and be shared
  /// by nodes, else a name made of the time.
  std::string directory;
  bool is_given_directory = false;
  std::string ring_directory;       ///< "": rings are anonymous
  bool is_flight_recorder = false;  ///< there are traces only where one is asked for
  std::string job;                  ///< RINGSIDE_JOB: the same on all nodes
  /// The number that a launcher has given this very process: ringside runs once for each task.
  std::optional<int> task;
  Variables choices;               ///< what was asked for, and what is set unless the user did
  Variables inherited;             ///< RINGSIDE_* that are set already and stay
  std::vector<std::string> notes;  ///< what the user should know, a sentence each

  /// All that is to be set.
  Variables variables() const;
};

/// `variables` are all that are set, as "NAME=value"; `nccl` is what find_nccl found.
Plan make_plan(const PlanOptions& options, const GetVariable& get,
               const std::vector<std::string>& variables, const std::vector<NcclLibrary>& nccl);

/// Says why a list of events is wrong; "" if it is right.
std::string trouble_with_events(const std::string& events);

/// Says why a choice of samples is wrong; "" if it is right.
std::string trouble_with_sample(const std::string& sample);

/// ringside-<date>-<time>, by the local clock.
std::string timed_name();

}  // namespace ringside::launch

#endif  // RINGSIDE_ANALYZER_LAUNCH_PLAN_H
