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
/// and at ranks whose traces are complete only. By calls: what was surely left out is missing
/// there, with Judgement::left_out_by; what may be one of several calls has a number that is not
/// known; and what has a number without a part only since numbers are shifted is undecided.
Explained explain_missing(const Matches& matches, std::size_t first, std::size_t last,
                          const SignedCalls& calls, std::vector<Judgement>& judgements);

/// Where it could not be explained: no missing one keeps its number. Undecided where ranks called
/// different functions, which shifts numbers, too.
void doubt_numbers(const Matches& matches, std::size_t first, std::size_t last,
                   std::vector<Judgement>& judgements);

}  // namespace ringside::match

#endif  // RINGSIDE_ANALYZER_MATCH_LEFT_OUT_H
