// SPDX-License-Identifier: Apache-2.0
//
// The calls of each rank in their order, told apart by what was called and not by numbers.
#ifndef RINGSIDE_ANALYZER_MATCH_SIGNED_CALLS_H
#define RINGSIDE_ANALYZER_MATCH_SIGNED_CALLS_H

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

#include "analyzer/match/verdict.h"

namespace ringside::match {

/// What tells one call from another, whatever its number.
using Signature = std::tuple<model::NameId, model::NameId, std::uint64_t, std::uint32_t>;

struct SignedCall {
  std::int64_t time_ns = 0;
  std::uint64_t id = 0;
  std::size_t operation = 0;  // index into Matches::operations
  std::uint64_t group = 0;    // 0: none, or not known
  Signature signature;        // as this member called it
};

/// By member, each in the order of its calls.
using SignedCalls = std::vector<std::vector<SignedCall>>;

/// The collectives of each member of the communicator of operations [first, last), which are all of
/// it, in the order in which it called them.
SignedCalls calls_by_member(const model::Traces& traces, const Matches& matches, std::size_t first,
                            std::size_t last);

/// After the first place at which the ranks called different operations that cannot be told apart
/// into a function mismatch, equal numbers no longer mean equal calls: no mismatch is claimed.
void withdraw_from(std::size_t place, const SignedCalls& calls, std::vector<Judgement>& judgements);

}  // namespace ringside::match

#endif  // RINGSIDE_ANALYZER_MATCH_SIGNED_CALLS_H
