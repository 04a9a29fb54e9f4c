// SPDX-License-Identifier: Apache-2.0
//
// Sums over the operations of each kind, from which rows are made.
#ifndef RINGSIDE_ANALYZER_METRICS_ROWS_ROW_SUMS_H
#define RINGSIDE_ANALYZER_METRICS_ROWS_ROW_SUMS_H

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "analyzer/facts/facts.h"
#include "analyzer/match/matcher.h"
#include "analyzer/metrics/rows/row_times.h"
#include "analyzer/metrics/rows/rows.h"

namespace ringside::metrics {

/// Operations with the same key are one row. Names are compared as text, so that the order is the
/// reader's.
struct RowKey {
  std::uint32_t communicator = 0;
  bool is_group = false;  // these come last
  std::string by;
  std::string function;
  std::optional<std::uint64_t> bytes;
  std::string datatype;
  std::string algorithm;
  std::string protocol;
  model::TimesFrom times_from = model::TimesFrom::kGpu;
  bool is_grouped = false;

  auto tied() const {
    return std::tie(communicator, is_group, by, function, bytes, datatype, algorithm, protocol,
                    times_from, is_grouped);
  }
  bool operator<(const RowKey& other) const { return tied() < other.tied(); }
};

/// The sums of one row, in any order of its operations.
struct RowSums {
  /// An AlltoAllv and the time it took, if that is known.
  struct Sized {
    std::uint64_t bytes = 0;
    std::optional<facts::Interval> busy;
    std::int64_t best_busy_ns = 0;
  };
  /// The sum over the members of a group of what each would have if the group took 1 ns.
  struct OfGroup {
    std::optional<double> algbw_of_1_ns;
    std::optional<double> busbw_of_1_ns;
    std::optional<double> nominal_of_1_ns;
  };

  Row row;  // its counts alone
  RowTimes times;
  std::vector<Sized> sized;  // of each operation, if they are of any size: of AlltoAllv only
  /// Stretches of unbroken repeats (repeats.h): the time of one turn, and how many there are.
  std::vector<std::pair<std::int64_t, std::uint64_t>> repeats;
  std::optional<OfGroup> of_group;  // of the last one

  /// Joins the times of operations that were not counted there.
  void take_times(RowSums&& other);
};

struct SummedRows {
  std::vector<CommunicatorRows> communicators;  // their counts and examples alone
  std::map<RowKey, RowSums> rows;
};

/// Sums up all operations. `also`: sums them up besides.
SummedRows sum_up_rows(const facts::Facts& facts, RowsBy by, const facts::Fold& also = {});

/// Finds the quantiles and bandwidths of all rows.
std::vector<CommunicatorRows> finish_rows(const match::Matches& matches, SummedRows&& sums);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_ROWS_ROW_SUMS_H
