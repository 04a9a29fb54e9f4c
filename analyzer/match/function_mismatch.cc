// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/function_mismatch.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <span>
#include <tuple>

namespace ringside::match {
namespace {

struct Call {
  std::int64_t time_ns = 0;
  std::uint64_t id = 0;
  std::size_t operation = 0;  // index into Matches::operations
};

// The collectives of each member of one communicator, in the order in which it called them.
std::vector<std::vector<Call>> calls_by_member(const model::Traces& traces, const Matches& matches,
                                               std::size_t first, std::size_t last) {
  const auto communicator = matches.operations[first].communicator;
  std::vector<std::vector<Call>> calls(matches.communicators[communicator].members.size());
  for (std::size_t i = first; i < last; ++i) {
    const MatchedOperation& matched = matches.operations[i];
    if (matched.way == Way::kPair) {
      continue;
    }
    for (const Part& part :
         std::span(matches.parts).subspan(matched.first_part, matched.part_count)) {
      const model::Operation& operation = operation_of(traces, part);
      calls[part.member].push_back({operation.enqueue_start_ns.value_or(0), operation.id, i});
    }
  }
  for (auto& of_member : calls) {
    std::sort(of_member.begin(), of_member.end(), [](const Call& a, const Call& b) {
      return std::tie(a.time_ns, a.id) < std::tie(b.time_ns, b.id);
    });
  }
  return calls;
}

void judge_places(const Matches& matches, const std::vector<std::vector<Call>>& calls,
                  std::vector<Judgement>& judgements) {
  for (std::size_t place = 0;; ++place) {
    std::set<std::size_t> here;
    for (const auto& of_member : calls) {
      if (place >= of_member.size()) {
        return;
      }
      here.insert(of_member[place].operation);
    }
    const bool is_one_call = here.size() == 1;
    // All parts are here if they are as many as the members.
    std::size_t parts = 0;
    std::set<model::NameId> functions;
    for (const std::size_t i : here) {
      parts += matches.operations[i].part_count;
      functions.insert(matches.operations[i].func);
    }
    const bool is_mismatch = parts == calls.size() && functions.size() == here.size() &&
                             std::all_of(here.begin(), here.end(), [&](std::size_t i) {
                               return judgements[i].verdict == Verdict::kMissing;
                             });
    if (is_one_call) {
      continue;
    }
    if (!is_mismatch) {
      return;
    }
    for (const std::size_t i : here) {
      const std::size_t other = i == *here.begin() ? *here.rbegin() : *here.begin();
      judgements[i] = {Verdict::kDiffers, "function", other};
    }
  }
}

}  // namespace

void find_function_mismatches(const model::Traces& traces, const Matches& matches,
                              std::vector<Judgement>& judgements) {
  const auto& operations = matches.operations;
  for (std::size_t first = 0; first < operations.size();) {
    std::size_t last = first;
    bool has_missing = false;
    for (; last < operations.size() &&
           operations[last].communicator == operations[first].communicator;
         ++last) {
      has_missing = has_missing || (operations[last].way != Way::kPair &&
                                    judgements[last].verdict == Verdict::kMissing);
    }
    if (has_missing) {
      judge_places(matches, calls_by_member(traces, matches, first, last), judgements);
    }
    first = last;
  }
}

}  // namespace ringside::match
