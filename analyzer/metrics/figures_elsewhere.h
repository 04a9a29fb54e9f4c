// SPDX-License-Identifier: Apache-2.0
//
// The figures of operations some of whose rows stay in other processes. `ringside` has none;
// `ringside-mpi` says how they are summed up.
#ifndef RINGSIDE_ANALYZER_METRICS_FIGURES_ELSEWHERE_H
#define RINGSIDE_ANALYZER_METRICS_FIGURES_ELSEWHERE_H

#include <optional>
#include <vector>

#include "analyzer/facts/facts.h"
#include "analyzer/metrics/critical_path.h"
#include "analyzer/metrics/grouping.h"
#include "analyzer/metrics/iterations.h"
#include "analyzer/metrics/network.h"
#include "analyzer/metrics/overlap.h"
#include "analyzer/metrics/rows.h"
#include "analyzer/metrics/stragglers.h"

namespace ringside::metrics {

struct FiguresFound {
  std::vector<CommunicatorRows> rows;
  Stragglers late;
};

class FiguresElsewhere {
 public:
  FiguresElsewhere() = default;
  virtual ~FiguresElsewhere() = default;
  FiguresElsewhere(const FiguresElsewhere&) = delete;
  FiguresElsewhere& operator=(const FiguresElsewhere&) = delete;

  /// Finds what make_rows() and find_stragglers() find where all rows are here, by what is given
  /// of each; nothing is found where nothing is given. `here`: of the operations whose rows are
  /// here, the same each time.
  virtual FiguresFound find(const facts::Facts& here, std::optional<RowsBy> rows_by,
                            std::optional<RowsBy> late_by) = 0;
  /// Finds what find_network() finds. Called once at most, and before find().
  virtual Network network(const model::Traces& traces, const align::Alignment& alignment,
                          const std::vector<match::Communicator>& communicators) = 0;
  /// Finds what find_overlap() finds; `here` as of find(). Called once at most, and before find().
  virtual Overlap overlap(const facts::Facts& here) = 0;
  /// Finds what find_iterations() finds, likewise.
  virtual std::vector<RunIterations> iterations(const facts::Facts& here, std::size_t length) = 0;
  /// Finds what find_critical_path() finds; `here` as of find(). Called once at most.
  virtual CriticalPath critical_path(const facts::Facts& here, RowsBy by) = 0;
};

/// Nothing, unless they were set.
FiguresElsewhere* figures_elsewhere();
void set_figures_elsewhere(FiguresElsewhere* figures);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_FIGURES_ELSEWHERE_H
