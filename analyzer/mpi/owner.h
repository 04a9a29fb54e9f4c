// SPDX-License-Identifier: Apache-2.0
//
// The operations that a process sums up, with the rows of all ranks. First it has all rows of the
// files that it has read; then the processes give each other the rows of the operations that each
// owns. Operations are numbered over all processes: by communicator, function and number.
#ifndef RINGSIDE_ANALYZER_MPI_OWNER_H
#define RINGSIDE_ANALYZER_MPI_OWNER_H

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/align/alignment.h"
#include "analyzer/align/points/stamp_errors.h"
#include "analyzer/facts/facts.h"
#include "analyzer/load/other_processes.h"
#include "analyzer/match/alike_calls.h"
#include "analyzer/metrics/network/link_finder.h"
#include "analyzer/metrics/overlap/overlap.h"
#include "analyzer/metrics/overlap/time_shares.h"
#include "analyzer/metrics/rows/grouping.h"
#include "analyzer/metrics/rows/row_sums.h"
#include "analyzer/model/trace.h"
#include "analyzer/mpi/keeper.h"
#include "analyzer/mpi/matched_rows.h"
#include "analyzer/mpi/messages.h"
#include "analyzer/replay/job_parts.h"

namespace ringside::mpi {

/// All files without their rows, and the clocks.
struct Heads {
  std::vector<std::string> paths;
  std::vector<load::KeptFile> files;
  align::Alignment alignment;

  template <typename Archive>
  void transfer(Archive& archive) {
    archive(paths, files, alignment);
  }
};

/// The operations of which a process has a row.
struct Arrivals {
  std::vector<std::uint32_t> numbers;
  std::vector<std::int64_t> last_ns;  // of the ranks that are here; kNone: none has a time
  std::vector<std::uint64_t> groups;  // of the first rank, from 1, if it is here; else 0
  align::StampErrors errors;          // of the files that are here

  static constexpr std::int64_t kNone = INT64_MIN;

  template <typename Archive>
  void transfer(Archive& archive) {
    archive(numbers, last_ns, groups, errors);
  }
};

/// The owners: process p owns the operations whose places are from the p-th of `begins` on.
struct Division {
  std::vector<std::uint32_t> begins;
  align::StampErrors errors;  // of all files

  std::uint32_t owner_of(std::uint32_t place) const {
    return static_cast<std::uint32_t>(std::upper_bound(begins.begin(), begins.end(), place) -
                                      begins.begin() - 1);
  }

  template <typename Archive>
  void transfer(Archive& archive) {
    archive(begins, errors);
  }
};

using WantedDurations = std::map<metrics::RowKey, metrics::RowTimes::Wanted>;
using FoundDurations = std::map<metrics::RowKey, metrics::RowTimes::Found>;

class Owner {
 public:
  /// Takes the rows that the process keeps.
  void begin(Heads&& heads, Keeper& keeper);
  /// All processes do this together, before arrivals(): each joins the links of the ranks whose
  /// files it keeps. `keepers`: the process of each file.
  metrics::FoundLinks links(const std::vector<int>& keepers, Messages& messages);
  /// Takes the rows that arrivals() or divide() matches besides.
  void take(MatchedRows&& matched) { matched_ = std::move(matched); }
  /// Matches the rows that are here. `matched`: how many MatchedRows there are of each communicator
  /// in all processes.
  Arrivals arrivals(std::vector<std::uint64_t>&& matched);
  /// `places`: of all operations, by number.
  void set_places(std::vector<std::uint32_t>&& places) { places_ = std::move(places); }
  /// What ran on the ranks whose files the process keeps; before divide().
  metrics::Overlap running() const { return metrics::find_running(*facts_); }
  /// All processes do this together. Returns how many rows went to others.
  std::uint64_t divide(Division&& division, Messages& messages);
  /// All processes do this together: each has all waits of some of the ranks.
  metrics::Overlap waiting(Messages& messages) const;
  /// Likewise: each has all times of some of the ranks.
  metrics::FoundShares shares(Messages& messages) const;
  /// Rows are those of operations that all ranks called alike.
  metrics::SummedRows& sum_up(metrics::RowsBy by);
  /// The part of the job that the operations are, of which each process has some.
  replay::JobParts job_parts(metrics::RowsBy by) const;
  /// Of the rows that were summed up last.
  FoundDurations find(const WantedDurations& wanted) const;

  const match::AlikeCalls& calls() const { return calls_; }
  /// Of the operations whose rows are here; others after divide().
  const facts::Facts& facts() const { return *facts_; }
  /// The number of each of these.
  const std::vector<std::uint32_t>& numbers() const { return numbers_; }
  /// How many operations each communicator has in all processes.
  const std::vector<std::uint64_t>& everywhere() const { return everywhere_; }
  std::size_t operations() const { return places_.size(); }
  /// Calls visit(number, operation) for each operation that process 0 has matched by its rows, with
  /// its number among all.
  template <typename Visit>
  void for_each_number(const match::Matches& here, const Visit& visit) const {
    std::uint32_t communicator = 0;
    std::uint32_t first = 0;  // of the communicator's
    std::uint32_t number = 0;
    for (const match::MatchedOperation& matched : here.operations) {
      for (; communicator < matched.communicator; ++communicator) {
        first += static_cast<std::uint32_t>(everywhere_[communicator]);
        number = first;
      }
      visit(number++, matched);
    }
  }

 private:
  void forget_network();
  Arrivals last_arrivals() const;
  /// Returns the places of `matched_` among the operations of their communicators.
  std::vector<std::uint32_t> match();

  model::Traces traces_;
  match::AlikeCalls calls_;
  std::vector<std::uint64_t> everywhere_;
  MatchedRows matched_;  // until they are matched
  align::Alignment alignment_;
  match::Matches matches_;
  std::optional<facts::Facts> facts_;
  std::vector<std::uint32_t> numbers_;  // of Matches::operations
  std::vector<std::uint32_t> places_;   // of all operations, by number
  metrics::SummedRows rows_;
};

}  // namespace ringside::mpi

#endif  // RINGSIDE_ANALYZER_MPI_OWNER_H
