// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/verdict/verdict.h"

#include <algorithm>
#include <array>
#include <utility>

#include "analyzer/match/executions.h"
#include "analyzer/model/saturating.h"

namespace ringside::match {
namespace {

std::vector<const Member*> absent_members(const Matches& matches,
                                          const MatchedOperation& operation) {
  std::vector<const Member*> absent;
  const auto parts = parts_of(matches, operation);
  const Communicator& communicator = matches.communicators[operation.communicator];
  if (operation.way == Way::kGroup) {
    return absent;
  }
  if (operation.way == Way::kPair) {
    if (parts.size() == 2) {
      return absent;
    }
    // Only one end was recorded. The absent member is the pair's other rank.
    const std::uint32_t member = parts.front().member;
    const auto here = communicator.members[member].rank;
    const std::uint32_t there = here == operation.source ? operation.destination : operation.source;
    for (const Member& other : communicator.members) {
      if (other.rank == there) {
        absent.push_back(&other);
      }
    }
    return absent;
  }
  if (parts.size() == communicator.members.size()) {
    return absent;
  }
  std::size_t next = 0;
  for (std::uint32_t i = 0; i < communicator.members.size(); ++i) {
    if (next < parts.size() && parts[next].member == i) {
      ++next;
    } else {
      absent.push_back(&communicator.members[i]);
    }
  }
  return absent;
}

// True if a record of the operation, or of one before it, may be lost. A pair needs the records of
// its two ends, other operations those of all members.
bool records_may_be_lost(const Matches& matches, const MatchedOperation& operation) {
  const auto& members = matches.communicators[operation.communicator].members;
  return std::any_of(members.begin(), members.end(), [&](const Member& member) {
    const bool takes_part = operation.way != Way::kPair || member.rank == operation.source ||
                            member.rank == operation.destination;
    return takes_part && !member.is_complete_so_far;
  });
}

Difference difference(const model::Terms& a, const model::Terms& b, bool same_interface, Way way) {
  const bool same_bytes = !a.bytes || !b.bytes || *a.bytes == *b.bytes;
  // Interfaces differ in whether count and datatype are the user's or NCCL's. The ends of a pair
  // may name different datatypes of the same size.
  if (same_interface && way != Way::kPair) {
    const bool same_count = !a.count || !b.count || *a.count == *b.count;
    const bool are_known = a.datatype != model::kNoName && b.datatype != model::kNoName;
    if (same_count && are_known && a.datatype != b.datatype) {
      return Difference::kDatatype;
    }
    if (same_bytes && !same_count) {
      return Difference::kCount;
    }
  }
  if (!same_bytes) {
    return Difference::kBytes;
  }
  return a.root && b.root && *a.root != *b.root ? Difference::kRoot : Difference::kNone;
}

Verdict verdict_of(Difference difference) {
  switch (difference) {
    case Difference::kNone:
      return Verdict::kMatched;
    case Difference::kFunction:
      return Verdict::kFunctionMismatch;
    case Difference::kBytes:
    case Difference::kCount:
    case Difference::kTotals:
      return Verdict::kSizeMismatch;
    case Difference::kDatatype:
      return Verdict::kDatatypeMismatch;
    case Difference::kRoot:
      return Verdict::kRootMismatch;
    case Difference::kState:
      return Verdict::kStateMismatch;
  }
  return Verdict::kUndecided;
}

}  // namespace

const char* verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kMatched:
      return "matched";
    case Verdict::kFunctionMismatch:
      return "function mismatch";
    case Verdict::kSizeMismatch:
      return "size mismatch";
    case Verdict::kDatatypeMismatch:
      return "datatype mismatch";
    case Verdict::kRootMismatch:
      return "root mismatch";
    case Verdict::kStateMismatch:
      return "state mismatch";
    case Verdict::kMissing:
      return "missing";
    case Verdict::kNotRecorded:
      return "not recorded";
    case Verdict::kUndecided:
      return "undecided";
  }
  return "";
}

const char* difference_name(Difference difference) {
  switch (difference) {
    case Difference::kNone:
      return "";
    case Difference::kFunction:
      return "function";
    case Difference::kBytes:
      return "bytes";
    case Difference::kCount:
      return "count";
    case Difference::kTotals:
      return "totals";
    case Difference::kDatatype:
      return "datatype";
    case Difference::kRoot:
      return "root";
    case Difference::kState:
      return "state";
  }
  return "";
}

bool disagrees(const Judgement& judgement) {
  return judgement.is_found_by_order ||
         (judgement.difference != Difference::kNone && judgement.difference != Difference::kState);
}

bool is_left_out(const Judgement& judgement) {
  return judgement.verdict == Verdict::kMissing ||
         (judgement.is_of_inferred && !judgement.left_out_by.empty());
}

bool is_finished(const model::Operation& operation) {
  return !operation.in_flight && operation.state == model::State::kCompleted;
}

bool is_damaged(const model::TraceFile& file, std::uint32_t operation) {
  return !file.doubtful.empty() && std::binary_search(file.doubtful.begin(), file.doubtful.end(),
                                                      file.operations.id(operation));
}

bool is_cut_off_in_flight(const model::TraceFile& file, const model::Operation& operation) {
  return operation.in_flight && (file.process.dump || !file.closed || file.recovered);
}

std::vector<Comparison> compare_ranks(const model::Traces& traces, const Matches& matches,
                                      std::span<const std::uint32_t> operations) {
  std::vector<Comparison> compared(operations.size());
  std::vector<model::Terms> first(operations.size());
  std::vector<std::int64_t> abi(operations.size());
  visit_rank_by_rank(matches, operations, [&](std::size_t i, std::size_t part) {
    const MatchedOperation& matched = matches.operations[operations[i]];
    const Part here = matches.parts[matched.first_part + part];
    const model::Terms terms = traces.files[here.file].operations.terms(here.operation);
    const std::int64_t own_abi = traces.files[here.file].process.abi;
    std::optional<std::int64_t>& surplus = compared[i].surplus;
    surplus = surplus && terms.surplus ? std::optional(add_saturating(*surplus, *terms.surplus))
                                       : std::nullopt;
    compared[i].has_in_flight = compared[i].has_in_flight || terms.in_flight;
    if (is_damaged(traces.files[here.file], here.operation)) {
      compared[i].is_doubtful = true;
    } else if (!compared[i].has_sound) {
      compared[i].has_sound = true;
      first[i] = terms;
      abi[i] = own_abi;
    } else if (compared[i].difference == Difference::kNone && matched.way != Way::kGroup) {
      compared[i].difference = difference(first[i], terms, abi[i] == own_abi, matched.way);
    }
  });
  return compared;
}

Judgement judge(const model::Traces& traces, const Matches& matches,
                const MatchedOperation& operation) {
  StateMismatch states(traces, realtime_clock(traces));
  const std::array index{static_cast<std::uint32_t>(&operation - matches.operations.data())};
  return judge(traces, matches, operation, compare_ranks(traces, matches, index).front(), {},
               states);
}

Judgement judge(const model::Traces& traces, const Matches& matches,
                const MatchedOperation& operation, const Comparison& compared,
                const CutOff& cut_off, StateMismatch& states) {
  const auto is_state_mismatch = [&] {
    return compared.has_in_flight && states.is_there(parts_of(matches, operation));
  };
  const auto damaged = [] {
    Judgement undecided{Verdict::kUndecided, Difference::kNone, 0};
    undecided.is_damaged = true;
    return undecided;
  };
  if (operation.way == Way::kGroup) {  // a group is recognised only if its pairs agree
    if (compared.is_doubtful) {
      return damaged();
    }
    return is_state_mismatch() ? Judgement{Verdict::kStateMismatch, Difference::kState, 0}
                               : Judgement{};
  }
  const bool is_whole = operation.part_count == ranks_expected(matches, operation);
  const Difference difference = compared.difference == Difference::kNone && is_whole &&
                                        !compared.is_doubtful && compared.surplus.value_or(0) != 0
                                    ? Difference::kTotals
                                    : compared.difference;
  if (difference != Difference::kNone) {
    const bool is_doubtful = operation.way != Way::kSequence && operation.way != Way::kAligned &&
                             records_may_be_lost(matches, operation);
    return {is_doubtful ? Verdict::kUndecided : verdict_of(difference), difference, 0};
  }
  const auto absent = absent_members(matches, operation);
  // An operation that is not certainly aligned is never reported as missing, nor is one of which
  // all records are damaged: the ranks that have them may have made another call.
  if (!operation.is_aligned && compared.has_sound) {
    if (auto members = left_out_by_number(traces, matches, operation, cut_off); !members.empty()) {
      Judgement missing{Verdict::kMissing, Difference::kNone, 0};
      missing.left_out_by = std::move(members);
      return missing;
    }
  }
  if (compared.is_doubtful) {
    return damaged();
  }
  if (is_state_mismatch()) {
    return {Verdict::kStateMismatch, Difference::kState, 0};
  }
  // A member with unaligned calls may have made this one.
  const auto& communicator = matches.communicators[operation.communicator];
  const auto& open = communicator.unaligned_members;
  if (operation.is_aligned && std::any_of(absent.begin(), absent.end(), [&](const Member* m) {
        const auto index = static_cast<std::uint32_t>(m - communicator.members.data());
        return std::binary_search(open.begin(), open.end(), index);
      })) {
    return {Verdict::kUndecided, Difference::kNone, 0};
  }
  const std::uint32_t expected =
      operation.way == Way::kPair ? 2 : ranks_expected(matches, operation);
  return {operation.part_count < expected ? Verdict::kNotRecorded : Verdict::kMatched,
          Difference::kNone, 0};
}

std::vector<std::uint32_t> left_out_by_number(const model::Traces& traces, const Matches& matches,
                                              const MatchedOperation& operation,
                                              const CutOff& cut_off) {
  const auto& members = matches.communicators[operation.communicator].members;
  std::vector<std::uint32_t> found;
  if (operation.part_count == members.size()) {
    return found;
  }
  for (const Member* member : absent_members(matches, operation)) {
    // Without hash and rank, contexts count as one communicator by the order of their creation:
    // some of them may be another's.
    if (!member->rank) {
      continue;
    }
    const auto index = static_cast<std::uint32_t>(member - members.data());
    if (member->is_complete || (is_judged_so_far(*member, operation) &&
                                cut_off.has_later_call(traces, matches, index, operation))) {
      found.push_back(index);
    }
  }
  return found;
}

std::uint32_t overwritten_parts(const Matches& matches, const MatchedOperation& operation) {
  const auto absent = absent_members(matches, operation);
  return static_cast<std::uint32_t>(
      std::count_if(absent.begin(), absent.end(),
                    [&](const Member* member) { return was_overwritten(*member, operation); }));
}

std::vector<std::uint32_t> absent_ranks(const Matches& matches, const MatchedOperation& operation,
                                        const Judgement& judgement) {
  std::vector<std::uint32_t> ranks;
  const auto& members = matches.communicators[operation.communicator].members;
  const auto add = [&](const Member& member) {
    if (member.rank) {
      ranks.push_back(*member.rank);
    }
  };
  if (is_left_out(judgement)) {
    for (const std::uint32_t member : judgement.left_out_by) {
      add(members[member]);
    }
    return ranks;
  }
  for (const Member* member : absent_members(matches, operation)) {
    add(*member);
  }
  return ranks;
}

}  // namespace ringside::match
