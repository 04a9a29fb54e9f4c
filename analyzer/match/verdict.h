// SPDX-License-Identifier: Apache-2.0
//
// What can be said of a matched operation. A verdict is never stronger than the data: where records
// may have been lost, an absent one is "not recorded", not "missing".
#ifndef RINGSIDE_ANALYZER_MATCH_VERDICT_H
#define RINGSIDE_ANALYZER_MATCH_VERDICT_H

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/match/matcher.h"

namespace ringside::match {

enum class Verdict : std::uint8_t {
  kMatched,      // on all ranks, and they agree
  kDiffers,      // ranks disagree in bytes, count, datatype or root, or called another function
  kMissing,      // a rank whose trace is complete did not call it
  kNotRecorded,  // not in the traces of all ranks, but those are not complete, or not all there
  kUndecided,    // ranks disagree, but it was matched by order and records may be lost
};
inline constexpr std::size_t kVerdictCount = 5;

/// For people, and in JSON.
const char* verdict_name(Verdict verdict);

struct Judgement {
  Verdict verdict = Verdict::kMatched;
  std::string differs;    // what differs: "bytes", "count", "datatype", "root" or "function"
  std::size_t other = 0;  // of "function": index of the operation that another rank called instead
};

/// Compares the ranks' records of one operation.
Judgement judge(const model::Traces& traces, const Matches& matches,
                const MatchedOperation& operation);

/// Ranks that have a trace, but not this operation in it; of a missing one, those that surely did
/// not call it.
std::vector<std::uint32_t> absent_ranks(const Matches& matches, const MatchedOperation& operation,
                                        Verdict verdict);

/// One line for people: the operation, and which ranks lack it or what each of them says.
std::string describe(const model::Traces& traces, const Matches& matches,
                     const MatchedOperation& operation, const Judgement& judgement);

}  // namespace ringside::match

#endif  // RINGSIDE_ANALYZER_MATCH_VERDICT_H
