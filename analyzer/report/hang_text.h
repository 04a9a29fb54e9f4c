// SPDX-License-Identifier: Apache-2.0
//
// The words of `ringside hang`.
#ifndef RINGSIDE_ANALYZER_REPORT_HANG_TEXT_H
#define RINGSIDE_ANALYZER_REPORT_HANG_TEXT_H

#include <string>
#include <vector>

#include "analyzer/metrics/hang_network.h"

namespace ringside::report {

/// What a hang comes from, as far as it can be told: the `kind` of its finding.
enum class Cause : std::uint8_t {
  kMismatch,   // ranks of one communicator do not call the same
  kDeadlock,   // operations wait for each other in a ring
  kNotJoined,  // a rank has not called it, and is not stuck elsewhere
  kNotBegun,   // a rank has called it, but its kernel has not begun
  kWaits,      // for a rank that is stuck in another operation
  kUndecided,  // of some ranks nothing can be said
  kAllJoined,  // all are in it
};

class HangText {
 public:
  HangText(const model::Traces& traces, const align::Alignment& alignment,
           const metrics::Hang& hang, const std::vector<metrics::OpenTransfers>& transfers)
      : traces_(traces), alignment_(alignment), hang_(hang), transfers_(transfers) {}

  Cause cause_of(std::uint32_t operation) const;
  /// "AllReduce seq 7 of communicator world".
  std::string name_of(std::uint32_t operation) const;
  /// "AllReduce seq 7".
  std::string short_name_of(std::uint32_t operation) const;
  /// The same of one rank's record, without the communicator.
  std::string name_of(const model::Operation& operation) const;
  /// What to say of one operation, by its cause; a complete sentence or more.
  std::string sentence(std::uint32_t operation) const;
  /// The ring of Hang::cycle.
  std::string cycle_sentence() const;
  /// Which communicator stopped first; empty if only one has stopped.
  std::string first_stopped() const;
  std::string waiting_ranks(std::uint32_t operation) const;
  std::string not_joined_ranks(std::uint32_t operation) const;
  /// Ranks of which nothing can be said, with the reasons; empty if there are none.
  std::string unknown_ranks(std::uint32_t operation) const;
  std::string label(std::uint32_t communicator) const;

 private:
  std::string place(std::uint32_t position) const;
  std::string blockers_text(std::uint32_t operation, metrics::Blocker::Why why) const;
  std::string fate(std::uint32_t position, const metrics::StuckOperation& of) const;
  std::string first_ended(std::uint32_t operation) const;
  std::string silent(std::uint32_t operation) const;
  bool is_surely_before(std::uint32_t file, std::int64_t time_ns, std::uint32_t other_file,
                        std::int64_t other_ns) const;
  std::string other_functions(std::uint32_t operation) const;
  std::string difference(std::uint32_t operation) const;
  std::string disagreement() const;
  std::string evidence(std::uint32_t operation) const;
  std::string waited(std::uint32_t operation) const;
  bool is_in_cycle(std::uint32_t operation) const;
  bool is_cycle_of_one_communicator() const;

  const model::Traces& traces_;
  const align::Alignment& alignment_;
  const metrics::Hang& hang_;
  const std::vector<metrics::OpenTransfers>& transfers_;
};

/// "rank 5", "ranks 0-3, 7".
std::string rank_ranges(std::vector<std::uint32_t> ranks, bool with_word = true);

const char* cause_name(Cause cause);
const char* stage_name(metrics::Stage stage);
const char* waits_for_name(metrics::WaitsFor waits_for);

}  // namespace ringside::report

#endif  // RINGSIDE_ANALYZER_REPORT_HANG_TEXT_H
