// SPDX-License-Identifier: Apache-2.0
//
// The sentences of `ringside hang`.
#ifndef RINGSIDE_ANALYZER_REPORT_HANG_HANG_SENTENCES_H
#define RINGSIDE_ANALYZER_REPORT_HANG_HANG_SENTENCES_H

#include <string>
#include <vector>

#include "analyzer/align/alignment.h"
#include "analyzer/metrics/hang/hang_network.h"
#include "analyzer/report/hang/hang_text.h"

namespace ringside::report {

class HangSentences {
 public:
  HangSentences(const model::Traces& traces, const align::Alignment& alignment,
                const metrics::Hang& hang, const std::vector<metrics::OpenTransfers>& transfers,
                const HangText& text)
      : traces_(traces), alignment_(alignment), hang_(hang), transfers_(transfers), text_(text) {}

  /// Returns a complete sentence or more on one operation, by its cause.
  std::string sentence(std::uint32_t operation) const;
  /// The ring of Hang::cycle.
  std::string cycle_sentence() const;
  /// Says what leaves open whether a last call hangs; without a full stop.
  std::string undecided(const metrics::UndecidedCall& call) const;
  /// Says which communicator stopped first; empty if only one has stopped, or no times are known.
  std::string first_stopped() const;

 private:
  std::string answer(std::uint32_t operation) const;
  std::string called_for(std::uint32_t operation) const;
  std::string not_known(std::uint32_t operation) const;
  std::string called_at(std::uint32_t operation) const;
  std::string ranks_of_job(std::uint32_t operation) const;
  std::string unfinished(std::uint32_t file) const;
  std::string fate(std::uint32_t position, const metrics::StuckOperation& of) const;
  std::string supposed(std::uint32_t operation) const;
  std::string silent(std::uint32_t operation) const;
  bool is_surely_before(std::uint32_t file, std::int64_t time_ns, std::uint32_t other_file,
                        std::int64_t other_ns) const;
  std::string other_functions(std::uint32_t operation) const;
  std::string difference(std::uint32_t operation) const;
  std::string disagreement() const;
  std::string evidence(std::uint32_t operation) const;

  const model::Traces& traces_;
  const align::Alignment& alignment_;
  const metrics::Hang& hang_;
  const std::vector<metrics::OpenTransfers>& transfers_;
  const HangText& text_;
};

}  // namespace ringside::report

#endif  // RINGSIDE_ANALYZER_REPORT_HANG_HANG_SENTENCES_H
