// SPDX-License-Identifier: Apache-2.0
//
// Finds which ranks of the job are in each communicator, and which communicator contains another.
#ifndef RINGSIDE_ANALYZER_MATCH_MEMBERSHIP_H
#define RINGSIDE_ANALYZER_MATCH_MEMBERSHIP_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/match/matcher.h"

namespace ringside::match {

struct Membership {
  /// Each member's rank in the whole job. It is the launcher's rank if the process has one rank in
  /// each communicator, else the member's rank in its process's largest communicator. For a process
  /// with several ranks, it is known only in that largest communicator.
  std::vector<std::optional<std::uint32_t>> global_ranks;
  std::vector<std::string> hosts;  // sorted
  /// The smallest communicator of the same run that has all these members and more; the first one
  /// if several are. None if a member's global rank is not known, or if ranks without a trace may
  /// be in it.
  std::optional<std::uint32_t> inside;
  std::uint64_t operations = 0;  // number of matched operations
};

std::vector<Membership> find_memberships(const model::Traces& traces, const Matches& matches);

}  // namespace ringside::match

#endif  // RINGSIDE_ANALYZER_MATCH_MEMBERSHIP_H
