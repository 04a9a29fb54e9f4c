// SPDX-License-Identifier: Apache-2.0
//
// Describes a matched operation and its verdict in words: what each rank did, and which ranks are
// the odd ones.
#ifndef RINGSIDE_ANALYZER_MATCH_VERDICT_DESCRIBE_H
#define RINGSIDE_ANALYZER_MATCH_VERDICT_DESCRIBE_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/match/verdict/verdict.h"

namespace ringside::match {

/// A rank, and the stack of one of its calls (Operation::called_by).
struct Caller {
  std::uint32_t rank = 0;
  model::NameId called_by = model::kNoName;
};

/// Returns the name that people know: "float32" of NCCL's "ncclFloat32". Others are as they were
/// recorded.
std::string datatype_name(std::string_view recorded);

struct Side {
  std::string did;  // "4096", "AllReduce #3", "in flight"
  std::vector<std::uint32_t> ranks;
  bool is_minority = false;
  std::vector<Caller> callers = {};  // those of which the stack is known
};

/// Returns the sides of operation `index`, minorities first and then by their lowest rank. The
/// result is empty if the ranks agree. The largest side is the majority. If two sides are largest,
/// there is no minority. In a state mismatch, only the ranks in flight can be the minority.
std::vector<Side> sides_of(const model::Traces& traces, const Matches& matches,
                           const std::vector<Judgement>& judgements, std::size_t index);

/// Returns the ranks that recorded the operation and tell from where they called it.
std::vector<Caller> callers_of(const model::Traces& traces, const Matches& matches,
                               const MatchedOperation& operation);

/// Returns the ranks whose record of the operation is damaged.
std::vector<std::uint32_t> damaged_ranks(const model::Traces& traces, const Matches& matches,
                                         const MatchedOperation& operation);

/// Returns the name that the lowest rank with one has in that member of Operation: one rank stands
/// for all. kNoName if none has.
model::NameId name_of_first(const model::Traces& traces, const Matches& matches,
                            const MatchedOperation& operation,
                            model::NameId model::Operation::*member);

/// Returns the line of the program that called, such as "train.py:17 in step", or where ranks
/// differ "a.py:1 in f (rank 0), b.py:9 in g (ranks 1-3)". Empty if there are no callers.
std::string call_sites(const model::Traces& traces, const std::vector<Caller>& callers);

/// Returns a text such as "0, 2-7"; behind `most` numbers and ranges the rest is counted:
/// "0, 2-7 and 90 more".
std::string rank_ranges(std::vector<std::uint32_t> ranks,
                        std::size_t most = static_cast<std::size_t>(-1));
/// The same with a word, of eight numbers and ranges at most: "rank 3", "ranks 0, 2-7 and 90 more".
std::string rank_list(const std::vector<std::uint32_t>& ranks);

/// Returns what the operation does: "AllReduce", "AlltoAll" for a group of sends and receives that
/// is one, "SendRecv" for a pair.
std::string_view function_name(const model::Traces& traces, const MatchedOperation& operation);

/// Returns a text such as "AllReduce #7" or "SendRecv #3 from rank 0 to rank 1".
std::string operation_text(const model::Traces& traces, const MatchedOperation& operation);

/// Returns the subject of a finding: the operation, or "AllReduce, one of #3 to #7" if the number
/// of the missing call is not known.
std::string subject_text(const model::Traces& traces, const Matches& matches,
                         const std::vector<Judgement>& judgements, std::size_t index);

/// Returns one line for people: the operation, and which ranks lack it or how the sides differ.
std::string describe(const model::Traces& traces, const Matches& matches,
                     const std::vector<Judgement>& judgements, std::size_t index);

}  // namespace ringside::match

#endif  // RINGSIDE_ANALYZER_MATCH_VERDICT_DESCRIBE_H
