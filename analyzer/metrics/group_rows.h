// SPDX-License-Identifier: Apache-2.0
//
// Rows of collectives that were called together: NCCL puts them into one kernel, so their time is
// that of all of them, and their bandwidth what all of them moved in it.
#ifndef RINGSIDE_ANALYZER_METRICS_GROUP_ROWS_H
#define RINGSIDE_ANALYZER_METRICS_GROUP_ROWS_H

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "analyzer/facts/facts.h"
#include "analyzer/metrics/rows.h"

namespace ringside::metrics {

class GroupRows {
 public:
  explicit GroupRows(const facts::Facts& facts) : facts_(facts) {}

  /// Adds a group of finished operations on which the ranks agree. `by`: see Row::by.
  void add(const std::vector<std::uint32_t>& operations, const std::string& by);

  /// Appends the rows to those of their communicators.
  void finish(std::vector<CommunicatorRows>& communicators);

 private:
  // Groups with the same key are one row: communicator, Row::by, functions, sum of bytes, source.
  using Key = std::tuple<std::uint32_t, std::string, std::string, std::uint64_t, model::TimesFrom>;
  struct Collected {
    Row row;
    RowTimes times;
    /// The sum over the members of what each would have if the group took 1 ns.
    std::optional<double> algbw_of_1_ns;
    std::optional<double> busbw_of_1_ns;
    std::optional<double> nominal_of_1_ns;
  };

  const facts::Facts& facts_;
  std::vector<facts::RankTimes> rows_;  // of one group
  std::map<Key, Collected> collected_;
};

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_GROUP_ROWS_H
