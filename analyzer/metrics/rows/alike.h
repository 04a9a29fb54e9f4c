// SPDX-License-Identifier: Apache-2.0
//
// Communicators that are alike: of one size and kind, with the same operations.
#ifndef RINGSIDE_ANALYZER_METRICS_ROWS_ALIKE_H
#define RINGSIDE_ANALYZER_METRICS_ROWS_ALIKE_H

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/match/matcher.h"
#include "analyzer/metrics/rows/rows.h"

namespace ringside::metrics {

/// By the time of their operations; indices of communicators.
struct Alike {
  std::size_t count = 1;  // 1, or at least four
  std::string kind;       // "tp " of "tp 0", "tp 1" and so on; may be empty
  std::size_t median = 0;
  std::optional<std::size_t> slowest;  // of several whose times are known
};

/// In the order of the first of each. `remarks`: by communicator; one that has any is by itself.
std::vector<Alike> find_alike(const std::vector<match::Communicator>& communicators,
                              const std::vector<CommunicatorRows>& rows,
                              const std::vector<std::vector<std::string>>& remarks);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_ROWS_ALIKE_H
