// SPDX-License-Identifier: Apache-2.0
//
// Who is in which communicator, and which communicator is part of which.
#ifndef RINGSIDE_ANALYZER_MATCH_MEMBERSHIP_H
#define RINGSIDE_ANALYZER_MATCH_MEMBERSHIP_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/match/matcher.h"

namespace ringside::match {

struct Membership {
  /// For each member its rank in the whole job: the launcher's where the process has one rank in
  /// each communicator, else its rank in the largest communicator of its process. Nothing if
  /// neither tells (a process of several GPUs in a part of them).
  std::vector<std::optional<std::uint32_t>> global_ranks;
  std::vector<std::string> hosts;  // sorted
  /// The smallest communicator of the same run that has all these members and more; of several the
  /// first. Nothing if a member's global rank is not known, or if ranks without a trace may be in
  /// it.
  std::optional<std::uint32_t> inside;
  std::uint64_t operations = 0;  // matched ones
};

/// One for each of Matches::communicators.
std::vector<Membership> find_memberships(const model::Traces& traces, const Matches& matches);

}  // namespace ringside::match

#endif  // RINGSIDE_ANALYZER_MATCH_MEMBERSHIP_H
