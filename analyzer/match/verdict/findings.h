// SPDX-License-Identifier: Apache-2.0
//
// The mismatches of each communicator: all are counted, and the first ones are described.
#ifndef RINGSIDE_ANALYZER_MATCH_VERDICT_FINDINGS_H
#define RINGSIDE_ANALYZER_MATCH_VERDICT_FINDINGS_H

#include <array>
#include <cstdint>
#include <vector>

#include "analyzer/match/matcher.h"
#include "analyzer/match/verdict/verdict.h"

namespace ringside::match {

struct CommunicatorFindings {
  std::array<std::uint64_t, kVerdictCount> verdicts{};  // counts of operations
  /// Indices of Matches::operations that get a sentence, the gravest verdicts first, then by time.
  /// A function mismatch gets one sentence, at its first operation.
  std::vector<std::size_t> described;
  std::vector<std::int64_t> called_ns;  // of each of these, since the epoch: the first call of it
  std::uint64_t not_described = 0;      // number of sentences beyond `cap`
};

/// Returns the findings of each of Matches::communicators. A rank without a trace is no finding
/// about an operation. `judgements` must come from judge_all().
std::vector<CommunicatorFindings> find_findings(const model::Traces& traces, const Matches& matches,
                                                const std::vector<Judgement>& judgements,
                                                std::size_t cap);

/// Whether an operation is described by itself: ranks of which nothing is known are not, for each.
bool is_described(const Matches& matches, const std::vector<Judgement>& judgements,
                  std::size_t index);

/// The verdict on each operation of a communicator, where all ranks that have a trace recorded all
/// operations, and agree.
Verdict agreed_verdict(const Communicator& communicator);

/// Returns how grave a verdict is. 0: nothing is wrong. 1: the data do not suffice. 2: the ranks
/// are not at the same point. 3: the ranks contradict each other.
int gravity(Verdict verdict);

}  // namespace ringside::match

#endif  // RINGSIDE_ANALYZER_MATCH_VERDICT_FINDINGS_H
