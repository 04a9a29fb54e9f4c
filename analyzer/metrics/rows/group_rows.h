// SPDX-License-Identifier: Apache-2.0
//
// Rows of collectives that were called together: NCCL puts them into one kernel, so their time is
// that of all of them, and their bandwidth what all of them moved in it.
#ifndef RINGSIDE_ANALYZER_METRICS_ROWS_GROUP_ROWS_H
#define RINGSIDE_ANALYZER_METRICS_ROWS_GROUP_ROWS_H

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "analyzer/facts/facts.h"
#include "analyzer/metrics/rows/row_sums.h"

namespace ringside::metrics {

class GroupRows {
 public:
  explicit GroupRows(const facts::Facts& facts) : facts_(facts) {}

  /// Adds a group of finished operations on which the ranks agree. `by`: see Row::by.
  void add(const std::vector<std::uint32_t>& operations, const std::string& by,
           std::map<RowKey, RowSums>& sums);

 private:
  const facts::Facts& facts_;
  std::vector<facts::RankTimes> rows_;  // of one group
};

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_ROWS_GROUP_ROWS_H
