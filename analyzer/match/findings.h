// SPDX-License-Identifier: Apache-2.0
//
// What does not match in a communicator: all of it counted, the first of it described.
#ifndef RINGSIDE_ANALYZER_MATCH_FINDINGS_H
#define RINGSIDE_ANALYZER_MATCH_FINDINGS_H

#include <array>
#include <cstdint>
#include <vector>

#include "analyzer/match/verdict.h"

namespace ringside::match {

struct CommunicatorFindings {
  std::array<std::uint64_t, kVerdictCount> verdicts{};  // operations
  /// Indices of Matches::operations that are worth a sentence, the gravest verdicts first, then by
  /// time. A function mismatch is one, at its first operation.
  std::vector<std::size_t> described;
  std::uint64_t left_out = 0;  // more of them than `cap`
};

/// One for each of Matches::communicators. That a rank has no trace at all is no finding about an
/// operation. `judgements` are those of judge_all.
std::vector<CommunicatorFindings> find_findings(const model::Traces& traces, const Matches& matches,
                                                const std::vector<Judgement>& judgements,
                                                std::size_t cap);

/// How grave a verdict is, from 0: nothing is wrong; 1: the data do not suffice; 2: the ranks are
/// not at the same point; 3: the ranks contradict each other.
int gravity(Verdict verdict);

}  // namespace ringside::match

#endif  // RINGSIDE_ANALYZER_MATCH_FINDINGS_H
