// SPDX-License-Identifier: Apache-2.0
//
// The map of the ranks that the others waited for: ranks by iterations, or by time if nothing
// repeats. Rows and columns that do not fit are put together, never left out.
#ifndef RINGSIDE_ANALYZER_REPORT_PAGE_WAIT_MAP_H
#define RINGSIDE_ANALYZER_REPORT_PAGE_WAIT_MAP_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/metrics/iterations/iterations.h"
#include "analyzer/replay/job.h"

namespace ringside::report {

struct WaitColumn {
  std::uint64_t first = 0;       // iterations, from 1; 0: a block of time
  std::uint64_t last = 0;        // the same as `first`, unless there are too many for a column each
  std::int64_t start_ns = 0;     // since the first column began
  std::int64_t duration_ns = 0;  // 0: not known
};

struct WaitRow {
  std::string label;  // "rank 3"
  std::string host;
  std::uint64_t ranks = 1;            // more than one: those that have no row of their own
  std::int64_t others_waited_ns = 0;  // the sum of the cells
  /// What all others waited for it, by column, as of for_each_waited_for().
  std::vector<std::int64_t> cells_ns;
};

/// The map of one run.
struct WaitMap {
  std::uint32_t run = 0;  // index into Runs::runs
  bool has_iterations = false;
  std::uint64_t ranks = 0;          // of the run
  std::vector<WaitColumn> columns;  // kMapColumns at most
  std::vector<WaitRow> rows;        // most first, at most kMapRows; then the others together
};

inline constexpr std::size_t kMapColumns = 60;
inline constexpr std::size_t kMapRows = 32;

/// `iterations`: those of the run, or NULL. Columns of time count from the end of each rank's first
/// kernel, by its own clock. No rows where nobody waited.
WaitMap make_wait_map(const replay::Job& job, const metrics::RunIterations* iterations);

}  // namespace ringside::report

#endif  // RINGSIDE_ANALYZER_REPORT_PAGE_WAIT_MAP_H
