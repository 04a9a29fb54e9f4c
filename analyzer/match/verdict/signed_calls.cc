// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/verdict/signed_calls.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace ringside::match {
namespace {

// NCCL reorders the calls of a group, and ranks may make them in different orders. So all groups of
// the same functions get one order: function by function, as the first of them was called.
class GroupOrder {
 public:
  explicit GroupOrder(const Matches& matches) : matches_(matches) {}

  void arrange(std::vector<SignedCall>& calls) {
    for (auto begin = calls.begin(); begin != calls.end();) {
      const auto end = std::find_if(begin + 1, calls.end(), [&](const SignedCall& call) {
        return begin->group == 0 || call.group != begin->group;
      });
      if (end - begin > 1) {
        arrange(begin, end);
      }
      begin = end;
    }
  }

 private:
  using At = std::vector<SignedCall>::iterator;
  using Functions = std::vector<model::NameId>;

  void arrange(At begin, At end) {
    called_.clear();
    for (At call = begin; call != end; ++call) {
      if (place_in(called_, *call) == called_.end()) {
        called_.push_back(function_of(*call));
      }
    }
    sorted_ = called_;
    std::sort(sorted_.begin(), sorted_.end());
    const Functions& order = order_.try_emplace(sorted_, called_).first->second;
    std::sort(begin, end, [&](const SignedCall& a, const SignedCall& b) {
      return std::pair(place_in(order, a), a.operation) <
             std::pair(place_in(order, b), b.operation);
    });
  }

  model::NameId function_of(const SignedCall& call) const {
    return matches_.operations[call.operation].func;
  }

  Functions::const_iterator place_in(const Functions& functions, const SignedCall& call) const {
    return std::find(functions.begin(), functions.end(), function_of(call));
  }

  const Matches& matches_;
  std::map<Functions, Functions> order_;  // by functions in ascending order
  Functions called_;                      // those of the group at hand, each once
  Functions sorted_;
};

}  // namespace

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
  GroupOrder of_groups(matches);
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
    of_groups.arrange(calls[member]);
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
