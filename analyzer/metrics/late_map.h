// SPDX-License-Identifier: Apache-2.0
//
// The map of the ranks that the others waited for: ranks by iterations, or by time if nothing
// repeats. Rows and columns that do not fit are put together, never left out.
#ifndef RINGSIDE_ANALYZER_METRICS_LATE_MAP_H
#define RINGSIDE_ANALYZER_METRICS_LATE_MAP_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "analyzer/facts/facts.h"
#include "analyzer/metrics/iterations.h"
#include "analyzer/model/packed_table.h"
#include "analyzer/model/trace.h"

namespace ringside::metrics {

struct LateColumn {
  std::uint64_t first = 0;       // iterations, from 1; 0: a block of time
  std::uint64_t last = 0;        // the same as `first`, unless there are too many for a column each
  std::int64_t start_ns = 0;     // since the first column began
  std::int64_t duration_ns = 0;  // 0: not known
  std::uint64_t operations = 0;  // in which ranks wait for each other
  std::uint64_t decided = 0;     // of them, those in which somebody was surely last
};

struct LateRow {
  std::string label;  // "rank 3"
  std::string host;
  std::uint64_t ranks = 1;  // more than one: those that have no row of their own
  std::int64_t caused_wait_ns = 0;
  std::vector<std::int64_t> cells_ns;  // what all others waited for it, by column
};

/// The map of one run.
struct LateMap {
  std::uint32_t run = 0;  // index into Runs::runs
  bool has_iterations = false;
  std::uint64_t ranks = 0;          // of the run
  std::vector<LateColumn> columns;  // kLateColumns at most
  std::vector<LateRow> rows;        // most first, at most kLateRows; then the others together
};

inline constexpr std::size_t kLateColumns = 60;
inline constexpr std::size_t kLateRows = 32;

/// The map of each run in which ranks wait for each other in some operation whose last rank is
/// surely known. Columns are the iterations of `runs` that hold such an operation, else they are of
/// equal time.
std::vector<LateMap> find_late_maps(const facts::Facts& facts,
                                    const std::vector<RunIterations>& runs);

/// The others' waits for one rank in one operation, by run. The columns: the rank, or kAbsent if it
/// is not sure who was last; when it came; how long all others waited; 1 in the first row of each
/// operation, else 0.
using LateWaits =
    std::map<std::uint32_t, model::PackedTable<std::array<std::size_t, 4>{0, 1, 2, 3}>>;

/// Returns those in operations of all runs but some.
LateWaits find_late_waits(const facts::Facts& facts, const std::vector<std::uint32_t>& but);

/// The same maps. `find` returns the waits in all operations; it is called once.
std::vector<LateMap> find_late_maps(
    const model::Traces& traces, const match::Matches& matches,
    const std::vector<RunIterations>& runs,
    const std::function<LateWaits(const std::vector<std::uint32_t>& but)>& find);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_LATE_MAP_H
