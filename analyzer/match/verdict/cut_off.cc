// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/verdict/cut_off.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "analyzer/match/calls/entry.h"

namespace ringside::match {
namespace {

bool is_collective(const MatchedOperation& operation) {
  return operation.way != Way::kPair && operation.way != Way::kGroup;
}

std::pair<std::int64_t, std::uint64_t> call_order(const model::Operation& operation) {
  return {time_of(operation), operation.id};
}

// NCCL reorders the calls of one group, so none of them counts as called before another.
bool is_called_before(const model::Operation& a, const model::Operation& b) {
  const bool is_one_group = a.group && b.group && *a.group == *b.group && *a.group != 0;
  return !is_one_group && call_order(a) < call_order(b);
}

}  // namespace

bool is_judged_so_far(const Member& member, const MatchedOperation& operation) {
  return is_cut_off(member) || (member.recorded_from && operation.way == Way::kSequence &&
                                *member.recorded_from <= operation.number);
}

bool was_overwritten(const Member& member, const MatchedOperation& operation) {
  return member.recorded_from && operation.way == Way::kSequence &&
         operation.number < *member.recorded_from;
}

CutOff::CutOff(const model::Traces& traces, const Matches& matches, std::size_t first,
               std::size_t last) {
  const auto& members = matches.communicators[matches.operations[first].communicator].members;
  const auto cut_off = std::count_if(members.begin(), members.end(), is_cut_off);
  std::vector<std::uint64_t> recorded_from;
  for (const Member& member : members) {
    if (member.recorded_from) {
      recorded_from.push_back(*member.recorded_from);
    }
  }
  if (cut_off == 0 && recorded_from.empty()) {
    return;
  }
  std::sort(recorded_from.begin(), recorded_from.end());
  const auto judged = [&](const MatchedOperation& operation) {
    return operation.way != Way::kSequence
               ? cut_off
               : cut_off + (std::upper_bound(recorded_from.begin(), recorded_from.end(),
                                             operation.number) -
                            recorded_from.begin());
  };
  // Only what a member lacks is ever asked for, and to find the last calls takes long.
  bool is_whole = true;
  for (std::size_t i = first; i < last && is_whole; ++i) {
    const MatchedOperation& operation = matches.operations[i];
    is_whole = operation.way == Way::kGroup ||
               (operation.way == Way::kPair ? operation.part_count == 2
                                            : operation.part_count == members.size());
  }
  if (is_whole) {
    return;
  }
  std::map<std::uint32_t, std::pair<std::int64_t, std::uint64_t>> latest;
  for (std::size_t i = first; i < last; ++i) {
    if (!is_collective(matches.operations[i])) {
      continue;
    }
    std::ptrdiff_t called = 0;
    for (const Part& part : parts_of(matches, matches.operations[i])) {
      if (!is_judged_so_far(members[part.member], matches.operations[i])) {
        continue;
      }
      ++called;
      const auto order = call_order(operation_of(traces, part));
      const auto [known, is_new] = latest.try_emplace(part.member, order);
      if (is_new || known->second < order) {
        known->second = order;
        last_[part.member] = i;
      }
    }
    lacks_any_ = lacks_any_ || called < judged(matches.operations[i]);
  }
}

bool CutOff::has_later_call(const model::Traces& traces, const Matches& matches,
                            std::uint32_t member, const MatchedOperation& operation) const {
  const auto found = last_.find(member);
  if (found == last_.end()) {
    return false;
  }
  const auto of_last = parts_of(matches, matches.operations[found->second]);
  bool is_before = false;
  for (const Part& part : parts_of(matches, operation)) {
    const auto later =
        std::lower_bound(of_last.begin(), of_last.end(), part.member,
                         [](const Part& p, std::uint32_t wanted) { return p.member < wanted; });
    if (later == of_last.end() || (*later).member != part.member) {
      continue;
    }
    if (!is_called_before(operation_of(traces, part), operation_of(traces, *later))) {
      return false;
    }
    is_before = true;
  }
  return is_before;
}

}  // namespace ringside::match
