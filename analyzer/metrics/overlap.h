// SPDX-License-Identifier: Apache-2.0
//
// How much of the time a rank communicates, and which communicators do so at the same time. What
// the GPU computes meanwhile is not in a trace of NCCL: the time in which any operation runs is the
// most that communication can be exposed; waiting for other ranks is a part of it.
#ifndef RINGSIDE_ANALYZER_METRICS_OVERLAP_H
#define RINGSIDE_ANALYZER_METRICS_OVERLAP_H

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/align/alignment.h"
#include "analyzer/match/matcher.h"
#include "analyzer/model/trace.h"

namespace ringside::metrics {

/// One rank. All times are sums over its operations whose execution is known.
struct RankOverlap {
  std::string label;
  std::string host;
  std::uint64_t operations = 0;
  std::uint64_t without_times = 0;  // their execution is not known
  std::int64_t span_ns = 0;         // from its first start to its last end
  std::int64_t busy_ns = 0;         // in which at least one operation ran
  std::int64_t summed_ns = 0;       // of all operations, overlap counted for each
  std::int64_t together_ns = 0;     // in which operations of two or more communicators ran
  /// Of synchronising collectives, for the last rank to come, by the middle of what the clocks
  /// leave open; and by how much that may be wrong, if all clocks and stamps err the same way.
  std::int64_t waiting_ns = 0;
  std::int64_t waiting_uncertainty_ns = 0;
  std::uint64_t waiting_known = 0;    // in so many operations
  std::uint64_t waiting_unknown = 0;  // not recorded on all ranks, unknown clocks, absurd times
};

struct PairOverlap {
  std::uint32_t first = 0;  // indices of communicators
  std::uint32_t second = 0;
  std::int64_t together_ns = 0;  // over all ranks
};

struct Overlap {
  std::vector<RankOverlap> ranks;
  std::vector<PairOverlap> pairs;                         // most first
  std::map<std::uint32_t, std::int64_t> of_communicator;  // busy time, over all ranks
};

Overlap find_overlap(const model::Traces& traces, const match::Matches& matches,
                     const align::Alignment& alignment);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_OVERLAP_H
