// SPDX-License-Identifier: Apache-2.0
//
// The times of the operations of one row: what the network did, and what the application saw. Each
// is an interval, because clocks and stamps leave something open.
#ifndef RINGSIDE_ANALYZER_METRICS_ROWS_ROW_TIMES_H
#define RINGSIDE_ANALYZER_METRICS_ROWS_ROW_TIMES_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/facts/facts.h"
#include "analyzer/model/packed_table.h"

namespace ringside::metrics {

/// A figure that is known to lie between two others. The best estimate is what is shown.
struct Figure {
  double least = 0;
  double best = 0;
  double most = 0;

  /// The interval is wider than a tenth of the figure: it is marked.
  bool is_vague() const { return most - least > best / 10; }
};

/// The quantiles of some durations, in ns. Percentiles are nearest-rank, the median is the middle
/// or the mean of two. Each is made from the least, the best guesses and the most of all durations.
struct Spread {
  Figure min;
  Figure median;
  Figure p90;
  Figure p99;
  Figure max;
};

/// Collects the times of operations of one kind.
class RowTimes {
 public:
  /// Adds an operation. `rows` are its ranks.
  void add(const facts::OperationFacts& operation, const std::vector<facts::RankTimes>& rows);
  /// Adds an operation of which only a time in the proxy's queue is known.
  void add_queued(std::int64_t duration_ns);
  /// Adds all that `other` has.
  void take(RowTimes&& other);

  /// Returns three, each of which is nothing if no rank was seen to run any operation: how long the
  /// data took; each rank's own start to its own end; what each rank waited for those that it
  /// needs. The last two are of the ranks whose data is in the time, so none of the medians is
  /// above that of the walls.
  std::array<std::optional<Spread>, 3> spreads() const;
  /// The sum of the ranks' waits.
  std::int64_t waited_ns() const { return waited_ns_; }

 private:
  // There is one for each rank of each operation, so they are packed.
  using Durations = model::PackedTable<std::array<std::size_t, 1>{0}>;
  // The best guess, then the least and the most, which are near it.
  using Bounds = model::PackedTable<std::array<std::size_t, 3>{0, 0, 0}>;
  struct Quantiles;
  // The columns of the tables below are numbered through.
  static constexpr std::size_t kColumns = 7;

  std::size_t count_of_column(std::size_t column) const;
  Quantiles quantiles_of(std::size_t column) const;
  template <typename Take>
  void visit(std::size_t column, const Take& take) const;

  Bounds busy_;
  Durations wall_;
  Bounds wait_;
  std::int64_t waited_ns_ = 0;
};

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_ROWS_ROW_TIMES_H
