// SPDX-License-Identifier: Apache-2.0
//
// Collectives that were called together. NCCL puts them into one kernel, so each of them seems to
// take the time of all.
#ifndef RINGSIDE_ANALYZER_FACTS_GROUPS_H
#define RINGSIDE_ANALYZER_FACTS_GROUPS_H

#include <cstdint>
#include <vector>

#include "analyzer/match/matcher.h"
#include "analyzer/model/trace.h"

namespace ringside::facts {

/// Groups of two collectives or more of one communicator, each as indices into Matches::operations,
/// ascending. Every rank that recorded them called them in one group. Their order is that of their
/// first operations.
std::vector<std::vector<std::uint32_t>> find_groups(const model::Traces& traces,
                                                    const match::Matches& matches);

}  // namespace ringside::facts

#endif  // RINGSIDE_ANALYZER_FACTS_GROUPS_H
