// SPDX-License-Identifier: Apache-2.0
//
// Ranks that have made no communicator yet, seen from outside: NCCL starts a profiler near the end
// of its init, so that a rank that is stuck before has no trace and answers nothing.
#ifndef RINGSIDE_LIVE_HOSTS_STARTING_H
#define RINGSIDE_LIVE_HOSTS_STARTING_H

#include <cstdint>
#include <string>
#include <vector>

namespace ringside::live {

struct StartingRank {
  std::string rank;  ///< as its launcher has it
  std::int64_t pid = 0;
  double since_s = 0;                    ///< since the process began
  std::string job = {}, directory = {};  ///< by its variables
  std::string host = {};                 ///< as it was asked; empty: this one
};

/// Of the processes of this user on this host those with Ringside's variables and a rank, whose
/// rank has no process that NCCL has loaded the plugin into. Those that began less than five
/// seconds ago are left out. By rank.
std::vector<StartingRank> starting_ranks();

/// Whether NCCL is to load the plugin in this process, by its variables.
bool has_plugin_variable(std::int64_t pid);

}  // namespace ringside::live

#endif  // RINGSIDE_LIVE_HOSTS_STARTING_H
