// SPDX-License-Identifier: Apache-2.0
//
// The place of each kernel in its iteration. Ranks that run the same sequence have the same role,
// and their kernels the same places: so what a rank does can be compared with what others do, and
// with what it does in other iterations.
#ifndef RINGSIDE_ANALYZER_REPLAY_PLACES_H
#define RINGSIDE_ANALYZER_REPLAY_PLACES_H

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyzer/replay/job.h"

namespace ringside::replay {

struct Role {
  std::vector<std::uint32_t> ranks;  // indices into Job::ranks
  std::uint32_t length = 0;          // kernels of one iteration; all of a rank's, if none repeats
};

class Places {
 public:
  explicit Places(const Job& job);

  const std::vector<Role>& roles() const { return roles_; }
  std::uint32_t role_of(std::uint32_t rank) const { return role_of_[rank]; }
  /// No other rank has the role of one of these.
  bool are_whole_roles(const std::vector<std::uint32_t>& ranks) const;
  bool is_role(const std::vector<std::uint32_t>& ranks) const {
    return !ranks.empty() && are_whole_roles(ranks) &&
           ranks.size() == roles_[role_of_[ranks.front()]].ranks.size();
  }

 private:
  std::vector<Role> roles_;
  std::vector<std::uint32_t> role_of_;
};

}  // namespace ringside::replay

#endif  // RINGSIDE_ANALYZER_REPLAY_PLACES_H
