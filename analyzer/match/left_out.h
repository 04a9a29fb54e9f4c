// SPDX-License-Identifier: Apache-2.0
//
// Which calls a rank left out. NCCL numbers what a rank calls: after a call that was left out the
// numbers are those of later calls, and the last number is absent, whichever call it was.
#ifndef RINGSIDE_ANALYZER_MATCH_LEFT_OUT_H
#define RINGSIDE_ANALYZER_MATCH_LEFT_OUT_H

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyzer/match/signed_calls.h"

namespace ringside::match {

enum class Explained : std::uint8_t {
  kByNumbers,  // nothing is missing, or numbers in between: then they count what was left out, too
  kByCalls,    // each rank made the calls of the one with the most, but for those left out
  kNot,        // the last numbers are missing, and nothing says of which calls
};

/// Looks at the missing ones among the collectives of one communicator, operations [first, last),
/// and only at ranks whose traces are complete, or complete so far. By calls: what was surely left
/// out is missing there, with Judgement::left_out_by; what may be one of several calls has a number
/// that is not known; and what has a number without a part only since numbers are shifted is
/// undecided. Of a rank that was cut off nothing behind its last call is missing.
Explained explain_missing(const model::Traces& traces, const Matches& matches, std::size_t first,
                          std::size_t last, const SignedCalls& calls, const CutOff& cut_off,
                          std::vector<Judgement>& judgements);

/// Where it could not be explained: no missing one keeps its number. Undecided where ranks called
/// different functions, which shifts numbers, too.
void doubt_numbers(const Matches& matches, std::size_t first, std::size_t last,
                   std::vector<Judgement>& judgements);

}  // namespace ringside::match

#endif  // RINGSIDE_ANALYZER_MATCH_LEFT_OUT_H
