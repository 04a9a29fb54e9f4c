// SPDX-License-Identifier: Apache-2.0
//
// Finds which calls a rank left out. NCCL numbers the calls that a rank makes. So after a call that
// the rank left out, each of its calls has the number of the next one on other ranks, and always
// the last number is absent.
#ifndef RINGSIDE_ANALYZER_MATCH_VERDICT_LEFT_OUT_H
#define RINGSIDE_ANALYZER_MATCH_VERDICT_LEFT_OUT_H

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyzer/match/verdict/signed_calls.h"

namespace ringside::match {

enum class Explained : std::uint8_t {
  kByNumbers,  // numbers count calls that were left out, too, or nothing is missing
  kByCalls,    // each rank made the calls of the rank with the most calls, except those it left out
  kNot,        // the last numbers are missing, and it is not known which calls were left out
};

/// Explains the missing collectives of one communicator, operations [first, last). Only ranks whose
/// traces are complete, or complete so far, are looked at. In the case kByCalls, the judgements
/// change. A call that was surely left out is missing, with Judgement::left_out_by. A call that may
/// be one of several is missing with an unknown number. An operation that lacks a part only because
/// the numbers are shifted is undecided. For a rank that was cut off, no call after its last one is
/// missing.
Explained explain_missing(const model::Traces& traces, const Matches& matches, std::size_t first,
                          std::size_t last, const SignedCalls& calls, const CutOff& cut_off,
                          std::vector<Judgement>& judgements);

/// For missing operations that explain_missing() could not explain (kNot): their numbers become
/// unknown. They become undecided where ranks called different functions, which shifts numbers,
/// too.
void doubt_numbers(const Matches& matches, std::size_t first, std::size_t last,
                   std::vector<Judgement>& judgements);

}  // namespace ringside::match

#endif  // RINGSIDE_ANALYZER_MATCH_VERDICT_LEFT_OUT_H
