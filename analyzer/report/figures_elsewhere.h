// SPDX-License-Identifier: Apache-2.0
//
// The figures of operations some of whose rows stay in other processes. `ringside` has none;
// `ringside-mpi` says how they are summed up.
#ifndef RINGSIDE_ANALYZER_REPORT_FIGURES_ELSEWHERE_H
#define RINGSIDE_ANALYZER_REPORT_FIGURES_ELSEWHERE_H

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyzer/facts/facts.h"
#include "analyzer/metrics/iterations/iterations.h"
#include "analyzer/metrics/network/network.h"
#include "analyzer/metrics/overlap/overlap.h"
#include "analyzer/metrics/overlap/time_shares.h"
#include "analyzer/metrics/rows/grouping.h"
#include "analyzer/metrics/rows/rows.h"
#include "analyzer/replay/job_parts.h"

namespace ringside::report {

/// `here`: the facts of the operations whose rows are here, the same each time. network() is asked
/// for first, then overlap() or iterations(), then all others; each of the named ones once at most.
class FiguresElsewhere {
 public:
  FiguresElsewhere() = default;
  virtual ~FiguresElsewhere() = default;
  FiguresElsewhere(const FiguresElsewhere&) = delete;
  FiguresElsewhere& operator=(const FiguresElsewhere&) = delete;

  /// Finds what make_rows() finds where all rows are here.
  virtual std::vector<metrics::CommunicatorRows> rows(const facts::Facts& here,
                                                      metrics::RowsBy by) = 0;
  /// Finds what replay::PartsFinder finds.
  virtual replay::JobParts job_parts(const facts::Facts& here, metrics::RowsBy by) = 0;
  /// Finds what find_network() finds.
  virtual metrics::Network network(const model::Traces& traces, const align::Alignment& alignment,
                                   const std::vector<match::Communicator>& communicators) = 0;
  /// Finds what find_overlap() finds.
  virtual metrics::Overlap overlap(const facts::Facts& here) = 0;
  /// Finds what find_iterations() finds.
  virtual std::vector<metrics::RunIterations> iterations(const facts::Facts& here,
                                                         std::size_t length) = 0;
  /// Finds what TimeShares finds.
  virtual metrics::FoundShares shares(const facts::Facts& here) = 0;
};

/// Nothing, unless they were set.
FiguresElsewhere* figures_elsewhere();
void set_figures_elsewhere(FiguresElsewhere* figures);

}  // namespace ringside::report

#endif  // RINGSIDE_ANALYZER_REPORT_FIGURES_ELSEWHERE_H
