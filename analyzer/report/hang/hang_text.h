// SPDX-License-Identifier: Apache-2.0
//
// The words of `ringside hang`, of which its sentences and tables are made.
#ifndef RINGSIDE_ANALYZER_REPORT_HANG_HANG_TEXT_H
#define RINGSIDE_ANALYZER_REPORT_HANG_HANG_TEXT_H

#include <string>
#include <vector>

#include "analyzer/match/verdict/describe.h"
#include "analyzer/metrics/hang/hang_network.h"
#include "analyzer/report/summary/job_ranks.h"

namespace ringside::report {

/// The cause of a hang, as far as it can be told: the `kind` of its finding.
enum class Cause : std::uint8_t {
  kMismatch,   // ranks of one communicator do not call the same
  kDeadlock,   // operations wait for each other in a ring
  kNotJoined,  // a rank has not called it, and is not stuck elsewhere
  kNotBegun,   // a rank has called it, but its kernel has not begun
  kWaits,      // for a rank that is stuck in another operation
  kUndecided,  // of some ranks nothing can be said
  kAllJoined,  // all are in it
};

/// Names, lists of ranks, and the cause of each stuck operation.
class HangText {
 public:
  HangText(const model::Traces& traces, const metrics::Hang& hang)
      : traces_(traces), hang_(hang), job_ranks_(traces, hang.matches.communicators) {}

  Cause cause_of(std::uint32_t operation) const;
  /// "AllReduce #7 of communicator world".
  std::string name_of(std::uint32_t operation) const;
  /// The same of any of Matches::operations.
  std::string name_of_matched(std::size_t index) const;
  /// "AllReduce #7".
  std::string short_name_of(std::uint32_t operation) const;
  /// The same of one rank's record, without the communicator.
  std::string name_of(const model::Operation& operation) const;
  /// The ranks that called it, as far as they tell from where.
  std::vector<match::Caller> callers(std::uint32_t operation) const;
  std::vector<std::uint32_t> waiting_ranks(std::uint32_t operation) const;
  std::vector<std::uint32_t> not_joined_ranks(std::uint32_t operation) const;
  /// Ranks of which nothing can be said, with the reasons; empty if there are none.
  std::string unknown_ranks(std::uint32_t operation) const;
  std::string label(std::uint32_t communicator) const;

  /// "5 (host a, pid 17)"; of a dump, which tells no host, "1 (rank 5 of the job)" where that
  /// differs.
  std::string place(std::uint32_t position) const;
  /// "Ranks 1 (host a, pid 17), 2 (host a, pid 18) have": those that block it so.
  std::string blockers_text(std::uint32_t operation, metrics::Blocker::Why why) const;
  /// "3 ranks have waited for 1.20 s", or "3 ranks have not finished it, as far as is recorded".
  std::string waited(std::uint32_t operation) const;
  bool is_in_cycle(std::uint32_t operation) const;
  bool is_cycle_of_one_communicator() const;
  const JobRanks& job_ranks() const { return job_ranks_; }

 private:
  std::vector<std::uint32_t> ranks_of(const std::vector<std::uint32_t>& positions) const;

  const model::Traces& traces_;
  const metrics::Hang& hang_;
  const JobRanks job_ranks_;
};

const char* cause_name(Cause cause);
const char* stage_name(metrics::Stage stage);
const char* waits_for_name(metrics::WaitsFor waits_for);

}  // namespace ringside::report

#endif  // RINGSIDE_ANALYZER_REPORT_HANG_HANG_TEXT_H
