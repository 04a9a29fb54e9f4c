// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/signed_calls.h"

#include <algorithm>

namespace ringside::match {

SignedCalls calls_by_member(const model::Traces& traces, const Matches& matches, std::size_t first,
                            std::size_t last) {
  const auto communicator = matches.operations[first].communicator;
  SignedCalls calls(matches.communicators[communicator].members.size());
  for (std::size_t i = first; i < last; ++i) {
    const MatchedOperation& matched = matches.operations[i];
    if (matched.way == Way::kPair || matched.way == Way::kGroup) {
      continue;
    }
    for (const Part& part : parts_of(matches, matched)) {
      const model::Operation& operation = operation_of(traces, part);
      calls[part.member].push_back(
          {operation.enqueue_start_ns.value_or(0), operation.id, i, operation.group.value_or(0),
           Signature(operation.func, operation.datatype, operation.bytes.value_or(0),
                     operation.root.value_or(0)),
           operation.enqueue_start_ns && !operation.graph});
    }
  }
  for (auto& of_member : calls) {
    std::sort(of_member.begin(), of_member.end(), [](const SignedCall& a, const SignedCall& b) {
      return std::tie(a.time_ns, a.id) < std::tie(b.time_ns, b.id);
    });
  }
  return calls;
}

void withdraw_from(std::size_t place, const SignedCalls& calls,
                   std::vector<Judgement>& judgements) {
  for (const auto& of_member : calls) {
    for (std::size_t i = place; i < of_member.size(); ++i) {
      Judgement& judgement = judgements[of_member[i].operation];
      if (disagrees(judgement) && judgement.difference != Difference::kFunction) {
        judgement.verdict = Verdict::kUndecided;
      }
    }
  }
}

}  // namespace ringside::match
