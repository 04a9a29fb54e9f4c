// SPDX-License-Identifier: Apache-2.0
//
// The figures of operations some of whose rows stay in other processes. `ringside` has none;
// `ringside-mpi` says how they are summed up.
#ifndef RINGSIDE_ANALYZER_METRICS_FIGURES_ELSEWHERE_H
#define RINGSIDE_ANALYZER_METRICS_FIGURES_ELSEWHERE_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/facts/facts.h"
#include "analyzer/metrics/critical_path.h"
#include "analyzer/metrics/grouping.h"
#include "analyzer/metrics/iterations.h"
#include "analyzer/metrics/late_map.h"
#include "analyzer/metrics/network.h"
#include "analyzer/metrics/overlap.h"
#include "analyzer/metrics/rows.h"
#include "analyzer/metrics/stragglers.h"
#include "analyzer/metrics/time_shares.h"

namespace ringside::metrics {

struct FiguresFound {
  std::vector<CommunicatorRows> rows;
  Stragglers late;
};

/// `here`: the facts of the operations whose rows are here, the same each time. network() is asked
/// for first, then overlap() or iterations(), then all others; each of the named ones once at most.
class FiguresElsewhere {
 public:
  FiguresElsewhere() = default;
  virtual ~FiguresElsewhere() = default;
  FiguresElsewhere(const FiguresElsewhere&) = delete;
  FiguresElsewhere& operator=(const FiguresElsewhere&) = delete;

  /// Finds what make_rows() and find_stragglers() find where all rows are here, by what is given
  /// of each; nothing is found where nothing is given.
  virtual FiguresFound find(const facts::Facts& here, std::optional<RowsBy> rows_by,
                            std::optional<RowsBy> late_by) = 0;
  /// Finds what find_network() finds.
  virtual Network network(const model::Traces& traces, const align::Alignment& alignment,
                          const std::vector<match::Communicator>& communicators) = 0;
  /// Finds what find_overlap() finds.
  virtual Overlap overlap(const facts::Facts& here) = 0;
  /// Finds what find_iterations() finds.
  virtual std::vector<RunIterations> iterations(const facts::Facts& here, std::size_t length) = 0;
  /// Finds what find_critical_path() finds.
  virtual CriticalPath critical_path(const facts::Facts& here, RowsBy by) = 0;
  /// Finds what TimeShares finds.
  virtual FoundShares shares(const facts::Facts& here) = 0;
  /// Finds what find_late_waits() finds.
  virtual LateWaits late_waits(const facts::Facts& here, const std::vector<std::uint32_t>& but) = 0;
};

/// Nothing, unless they were set.
FiguresElsewhere* figures_elsewhere();
void set_figures_elsewhere(FiguresElsewhere* figures);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_FIGURES_ELSEWHERE_H
