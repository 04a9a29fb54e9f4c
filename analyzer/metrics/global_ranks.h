// SPDX-License-Identifier: Apache-2.0
//
// The ranks of the job, over all communicators: a rank is a process, or one of the GPUs of a
// process that drives several.
#ifndef RINGSIDE_ANALYZER_METRICS_GLOBAL_RANKS_H
#define RINGSIDE_ANALYZER_METRICS_GLOBAL_RANKS_H

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/match/matcher.h"
#include "analyzer/model/trace.h"

namespace ringside::metrics {

struct GlobalRank {
  std::string label;       // "rank 3", or "host:pid" where no number is known
  std::uint32_t file = 0;  // index into Traces::files
};

class GlobalRanks {
 public:
  GlobalRanks(const model::Traces& traces, const match::Matches& matches);

  /// Index into all(), of a member of a communicator.
  std::uint32_t of(std::uint32_t communicator, std::uint32_t member) const {
    return of_[communicator][member];
  }
  const std::vector<GlobalRank>& all() const { return all_; }

 private:
  std::vector<std::vector<std::uint32_t>> of_;
  std::vector<GlobalRank> all_;
};

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_GLOBAL_RANKS_H
