// SPDX-License-Identifier: Apache-2.0
//
// Ranks of a communicator are its own. Dumps of PyTorch's Flight Recorder say which ranks of the
// job they are, and what is said of such a communicator says so, where the two differ.
#ifndef RINGSIDE_ANALYZER_REPORT_SUMMARY_JOB_RANKS_H
#define RINGSIDE_ANALYZER_REPORT_SUMMARY_JOB_RANKS_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/match/matcher.h"

namespace ringside::report {

class JobRanks {
 public:
  /// The communicators must outlive this.
  JobRanks(const model::Traces& traces, const std::vector<match::Communicator>& communicators);

  /// The rank in the job of each rank of a communicator; none if no dump lists them, or all are
  /// equal.
  const std::vector<std::uint32_t>& of(std::uint32_t communicator) const {
    return of_job_[communicator];
  }
  /// Returns the ranks in the job of these ranks of a communicator; none if of() has none.
  std::vector<std::uint32_t> of_job(std::uint32_t communicator,
                                    const std::vector<std::uint32_t>& ranks) const;
  /// "Ranks 0, 1 of mesh_dp are ranks 1, 3 of the job": all of a small communicator, else those
  /// that are given, up to eight. Empty if of() has none.
  std::string text(std::uint32_t communicator, std::vector<std::uint32_t> ranks) const;

 private:
  const std::vector<match::Communicator>& communicators_;
  std::vector<std::vector<std::uint32_t>> of_job_;  // by communicator
};

/// Returns the ranks in the job of these ranks of a communicator, as far as they have a trace: the
/// launcher's numbers, where it counts what the communicator counts.
std::vector<std::uint32_t> launched_ranks(const model::Traces& traces,
                                          const match::Communicator& communicator,
                                          const std::vector<std::uint32_t>& ranks);

}  // namespace ringside::report

#endif  // RINGSIDE_ANALYZER_REPORT_SUMMARY_JOB_RANKS_H
