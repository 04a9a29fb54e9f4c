// SPDX-License-Identifier: Apache-2.0
//
// The figures of operations whose rows are in several processes: process 0 says who owns which
// operations, and joins what the owners have summed up.
#ifndef RINGSIDE_ANALYZER_MPI_DIVIDER_H
#define RINGSIDE_ANALYZER_MPI_DIVIDER_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/mpi/leader.h"
#include "analyzer/mpi/messages.h"
#include "analyzer/mpi/owner.h"
#include "analyzer/report/figures_elsewhere.h"

namespace ringside::mpi {

class Divider final : public report::FiguresElsewhere {
 public:
  /// Both must outlive it.
  Divider(Messages& messages, Leader& leader) : messages_(messages), leader_(leader) {}

  std::vector<metrics::CommunicatorRows> rows(const facts::Facts& here,
                                              metrics::RowsBy by) override;
  replay::JobParts job_parts(const facts::Facts& here, metrics::RowsBy by) override;
  metrics::Network network(const model::Traces& traces, const align::Alignment& alignment,
                           const std::vector<match::Communicator>& communicators) override;
  metrics::Overlap overlap(const facts::Facts& here) override;
  std::vector<metrics::RunIterations> iterations(const facts::Facts& here,
                                                 std::size_t length) override;
  metrics::FoundShares shares(const facts::Facts& here) override;

 private:
  // The process that has a row, and the row's place among those of its file that are there.
  struct RowPlace {
    std::uint32_t process = 0;
    std::uint32_t place = 0;

    auto operator<=>(const RowPlace&) const = default;
  };

  /// Tells all processes what is known of the files, the first time.
  void tell_heads(const align::Alignment& alignment);
  /// Has all processes put their rows in order, the first time.
  void begin(const facts::Facts& here);
  /// Gives all rows to their owners, the first time.
  void divide(const facts::Facts& here);
  /// Says which rows of matches that are here, too, each process has.
  void tell_matched(const facts::Facts& here);
  void refine(metrics::SummedRows& rows);

  Messages& messages_;
  Leader& leader_;
  Owner owner_;
  bool knows_heads_ = false;
  bool has_begun_ = false;
  std::vector<std::uint32_t> begins_;  // until they are divided
  align::StampErrors errors_;
  std::vector<std::uint32_t> places_;                // of all operations, by number
  std::vector<std::vector<RowPlace>> rows_matched_;  // by file and row of those that are here, too
};

}  // namespace ringside::mpi

#endif  // RINGSIDE_ANALYZER_MPI_DIVIDER_H
