// SPDX-License-Identifier: Apache-2.0
//
// Finds how much of the time a rank communicates, and which communicators do so at the same time. A
// trace of NCCL does not show when the GPU computes. So communication is exposed for at most the
// time in which any operation runs.
#ifndef RINGSIDE_ANALYZER_METRICS_OVERLAP_OVERLAP_H
#define RINGSIDE_ANALYZER_METRICS_OVERLAP_OVERLAP_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analyzer/facts/facts.h"

namespace ringside::metrics {

/// One rank. All times are sums over its operations whose execution is known.
struct RankOverlap {
  std::string label;
  std::string host;
  std::uint32_t file = 0;  // index into Traces::files
  std::uint64_t operations = 0;
  std::uint64_t without_times = 0;  // their execution is not known
  std::int64_t span_ns = 0;         // from its first start to its last end
  std::int64_t busy_ns = 0;         // in which at least one operation ran
  std::int64_t summed_ns = 0;       // of all operations, overlap counted for each
  std::int64_t together_ns = 0;     // in which operations of two or more communicators ran
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

Overlap find_overlap(const facts::Facts& facts);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_OVERLAP_OVERLAP_H
