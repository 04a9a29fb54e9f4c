// SPDX-License-Identifier: Apache-2.0
//
// Judges collectives of which no rank was seen to run anything by the calls alone: within a host,
// NCCL shows no more without kernel channels. A rank that has not called what others have called,
// and has been silent for longer than ever before, keeps them waiting.
#ifndef RINGSIDE_ANALYZER_METRICS_HANG_LAST_CALLS_H
#define RINGSIDE_ANALYZER_METRICS_HANG_LAST_CALLS_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/align/alignment.h"
#include "analyzer/match/matcher.h"
#include "analyzer/match/verdict/verdict.h"
#include "analyzer/metrics/hang/hang_positions.h"
#include "analyzer/model/trace.h"

namespace ringside::metrics {

/// A last call of which cannot be told whether it hangs.
struct UndecidedCall {
  std::size_t matched = 0;                  // index into Matches::operations
  std::optional<std::uint32_t> not_called;  // the position that has not; nothing: all ranks have
  /// No rank that could go on has called for so long; nothing: that is not told.
  std::optional<std::int64_t> silent_ns;
  std::size_t times_before = 0;  // how often one of these was silent as long before
};

/// Makes the first call of each rank that surely waits for another rank a front (Stage::kCalled).
/// Returns, for each communicator, the last call of which that cannot be told.
std::vector<UndecidedCall> add_last_calls(const model::Traces& traces,
                                          const align::Alignment& alignment,
                                          const match::Matches& matches,
                                          const std::vector<match::Judgement>& judgements,
                                          std::int64_t min_age_ns,
                                          std::vector<Position>& positions);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_HANG_LAST_CALLS_H
