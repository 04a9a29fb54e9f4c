// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_ANALYZER_REPLAY_PROFILE_EDGES_H
#define RINGSIDE_ANALYZER_REPLAY_PROFILE_EDGES_H

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "analyzer/match/matcher.h"
#include "analyzer/model/trace.h"

namespace ringside::replay {

/// Where the profiles of a job begin and end: each rank's where it likes. What not all ranks
/// recorded there would look as if nobody had waited.
class ProfileEdges {
 public:
  ProfileEdges(const model::Traces& traces, const match::Matches& matches);

  /// Whether a rank called this operation before the first that all ranks recorded, or behind the
  /// last. False of all but profiles. May be called on several threads at once.
  bool hold(std::span<const match::Part> parts, std::span<const model::Execution> executions) const;

 private:
  // By file: what is called at the first time or before, or at the second or later, is at an edge.
  // Empty if all is recorded.
  std::vector<std::pair<std::int64_t, std::int64_t>> edges_ns_;
};

}  // namespace ringside::replay

#endif  // RINGSIDE_ANALYZER_REPLAY_PROFILE_EDGES_H
