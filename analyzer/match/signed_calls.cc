// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/signed_calls.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace ringside::match {

SignedCalls calls_by_member(const model::Traces& traces, const Matches& matches, std::size_t first,
                            std::size_t last) {
  const auto communicator = matches.operations[first].communicator;
  const auto& members = matches.communicators[communicator].members;
  SignedCalls calls(members.size());
  using Signature = std::tuple<model::NameId, model::NameId, std::uint64_t, std::uint32_t>;
  std::map<Signature, std::uint32_t> signatures;
  for (std::size_t i = first; i < last; ++i) {
    const MatchedOperation& matched = matches.operations[i];
    if (matched.way == Way::kPair || matched.way == Way::kGroup) {
      continue;
    }
    for (const Part& part : parts_of(matches, matched)) {
      const model::Operation& operation = operation_of(traces, part);
      const Signature signature(operation.func, operation.datatype, operation.bytes.value_or(0),
                                operation.root.value_or(0));
      const auto next = static_cast<std::uint32_t>(signatures.size());
      calls[part.member].push_back({i, operation.group.value_or(0), part.operation,
                                    signatures.try_emplace(signature, next).first->second,
                                    operation.enqueue_start_ns && !operation.graph});
    }
  }
  using TimeAndId = std::pair<std::int64_t, std::uint64_t>;
  std::vector<std::pair<TimeAndId, SignedCall>> sorted;
  for (std::size_t member = 0; member < calls.size(); ++member) {
    const model::Operations& operations = traces.files[members[member].file].operations;
    sorted.clear();
    for (const SignedCall& call : calls[member]) {
      const auto time_ns = operations.execution(call.part).enqueue_start_ns.value_or(0);
      sorted.push_back({{time_ns, operations.id(call.part)}, call});
    }
    std::sort(sorted.begin(), sorted.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    std::transform(sorted.begin(), sorted.end(), calls[member].begin(),
                   [](const auto& one) { return one.second; });
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
