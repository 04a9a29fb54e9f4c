// SPDX-License-Identifier: Apache-2.0
//
// A matched operation and its verdict in words: who did what, and which side is the odd one.
#ifndef RINGSIDE_ANALYZER_MATCH_DESCRIBE_H
#define RINGSIDE_ANALYZER_MATCH_DESCRIBE_H

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/match/verdict.h"

namespace ringside::match {

/// Ranks that did the same.
struct Side {
  std::string did;  // "4096", "AllReduce seq 3", "in flight"
  std::vector<std::uint32_t> ranks;
  bool is_minority = false;
};

/// The sides of operation `index`, the minority first, else by their lowest rank. Empty where
/// nothing differs. The largest side is the majority; where two are as large it is a tie, and no
/// side is a minority. Of a state mismatch only those in flight can be the minority.
std::vector<Side> sides_of(const model::Traces& traces, const Matches& matches,
                           const std::vector<Judgement>& judgements, std::size_t index);

/// "rank 3", "ranks 0, 2-7 and 90 more".
std::string rank_list(const std::vector<std::uint32_t>& ranks);

/// "AllReduce seq 7", "SendRecv from rank 0 to rank 1, pair 3".
std::string operation_text(const model::Traces& traces, const MatchedOperation& operation);

/// What a finding is about: the operation; "AllReduce, one of seq 3 to 7" where the number of what
/// is missing is not known.
std::string subject_text(const model::Traces& traces, const Matches& matches,
                         const std::vector<Judgement>& judgements, std::size_t index);

/// One line for people: the operation, and which ranks lack it or what each side says.
std::string describe(const model::Traces& traces, const Matches& matches,
                     const std::vector<Judgement>& judgements, std::size_t index);

}  // namespace ringside::match

#endif  // RINGSIDE_ANALYZER_MATCH_DESCRIBE_H
