// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/verdict.h"

#include <algorithm>
#include <span>

namespace ringside::match {
namespace {

std::span<const Part> parts_of(const Matches& matches, const MatchedOperation& operation) {
  return std::span(matches.parts).subspan(operation.first_part, operation.part_count);
}

// Members that should have recorded the operation and did not.
std::vector<const Member*> absent_members(const Matches& matches,
                                          const MatchedOperation& operation) {
  std::vector<const Member*> absent;
  const auto parts = parts_of(matches, operation);
  const Communicator& communicator = matches.communicators[operation.communicator];
  if (operation.way == Way::kPair) {
    if (parts.size() == 2) {
      return absent;
    }
    // Only one end is there; the other is whichever rank did not write it.
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

// A pair needs its two ends only, others all members.
bool records_may_be_lost(const Matches& matches, const MatchedOperation& operation) {
  const auto& members = matches.communicators[operation.communicator].members;
  return std::any_of(members.begin(), members.end(), [&](const Member& member) {
    const bool takes_part = operation.way != Way::kPair || member.rank == operation.source ||
                            member.rank == operation.destination;
    return takes_part && !member.is_complete;
  });
}

const char* difference(const model::Operation& a, const model::Operation& b, bool same_interface,
                       Way way) {
  if (a.bytes && b.bytes && a.bytes != b.bytes) {
    return "bytes";
  }
  // Interfaces differ in whose count and datatype they tell, and NCCL lets the two ends of a pair
  // name different datatypes of the same size.
  if (same_interface && way != Way::kPair) {
    if (a.count && b.count && a.count != b.count) {
      return "count";
    }
    if (a.datatype != b.datatype) {
      return "datatype";
    }
  }
  if (a.root && b.root && a.root != b.root) {
    return "root";
  }
  return nullptr;
}

std::string value_text(const model::Traces& traces, const Part& part, const std::string& what) {
  const model::Operation& operation = operation_of(traces, part);
  if (what == "datatype") {
    return std::string(traces.names.text(operation.datatype));
  }
  if (what == "root") {
    return std::to_string(operation.root.value_or(0));
  }
  return std::to_string((what == "bytes" ? operation.bytes : operation.count).value_or(0));
}

std::string rank_text(const std::optional<std::uint32_t>& rank) {
  return rank ? std::to_string(*rank) : "?";
}

std::string rank_list(const std::vector<std::uint32_t>& ranks) {
  constexpr std::size_t kListed = 8;
  std::string text = ranks.size() == 1 ? "rank" : "ranks";
  for (std::size_t i = 0; i < std::min(ranks.size(), kListed); ++i) {
    text += (i == 0 ? " " : ", ") + std::to_string(ranks[i]);
  }
  if (ranks.size() > kListed) {
    text += " and " + std::to_string(ranks.size() - kListed) + " more";
  }
  return text;
}

std::string operation_text(const model::Traces& traces, const MatchedOperation& operation) {
  const std::string number = std::to_string(operation.number);
  switch (operation.way) {
    case Way::kPair:
      return "SendRecv from rank " + std::to_string(operation.source) + " to rank " +
             std::to_string(operation.destination) + ", pair " + number;
    case Way::kOrder:
      return std::string(traces.names.text(operation.func)) + " call " + number;
    case Way::kSequence:
      break;
  }
  std::string text = std::string(traces.names.text(operation.func)) + " seq " + number;
  if (operation.occurrence > 0) {
    text += " (occurrence " + std::to_string(operation.occurrence + 1) + ")";
  }
  return text;
}

}  // namespace

const char* verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kMatched:
      return "matched";
    case Verdict::kDiffers:
      return "differs";
    case Verdict::kMissing:
      return "missing";
    case Verdict::kNotRecorded:
      return "not recorded";
    case Verdict::kUndecided:
      return "undecided";
  }
  return "";
}

Judgement judge(const model::Traces& traces, const Matches& matches,
                const MatchedOperation& operation) {
  const auto parts = parts_of(matches, operation);
  const Part& first = parts.front();
  for (const Part& part : parts.subspan(1)) {
    const bool same_interface =
        traces.files[first.file].process.abi == traces.files[part.file].process.abi;
    const char* const what = difference(operation_of(traces, first), operation_of(traces, part),
                                        same_interface, operation.way);
    if (what != nullptr) {
      const bool is_doubtful =
          operation.way != Way::kSequence && records_may_be_lost(matches, operation);
      return {is_doubtful ? Verdict::kUndecided : Verdict::kDiffers, what, 0};
    }
  }
  const auto absent = absent_members(matches, operation);
  if (std::any_of(absent.begin(), absent.end(), [](const Member* m) { return m->is_complete; })) {
    return {Verdict::kMissing, {}, 0};
  }
  const std::uint32_t expected =
      operation.way == Way::kPair ? 2 : ranks_expected(matches, operation);
  return {operation.part_count < expected ? Verdict::kNotRecorded : Verdict::kMatched, {}, 0};
}

std::vector<std::uint32_t> absent_ranks(const Matches& matches, const MatchedOperation& operation,
                                        Verdict verdict) {
  std::vector<std::uint32_t> ranks;
  for (const Member* member : absent_members(matches, operation)) {
    if (member->rank && (verdict != Verdict::kMissing || member->is_complete)) {
      ranks.push_back(*member->rank);
    }
  }
  return ranks;
}

std::string describe(const model::Traces& traces, const Matches& matches,
                     const MatchedOperation& operation, const Judgement& judgement) {
  std::string text = operation_text(traces, operation) + ": ";
  if (judgement.differs.empty()) {
    const auto ranks = absent_ranks(matches, operation, judgement.verdict);
    return text + verdict_name(judgement.verdict) + " on " +
           (ranks.empty() ? "a rank without trace" : rank_list(ranks));
  }
  const auto& members = matches.communicators[operation.communicator].members;
  if (judgement.differs == "function") {
    std::vector<std::uint32_t> ranks;
    for (const Part& part : parts_of(matches, operation)) {
      ranks.push_back(members[part.member].rank.value_or(0));
    }
    return text + "called by " + rank_list(ranks) + " where others called " +
           operation_text(traces, matches.operations[judgement.other]);
  }
  text += judgement.differs;
  constexpr std::size_t kListed = 8;
  std::size_t listed = 0;
  for (const Part& part : parts_of(matches, operation)) {
    if (++listed > kListed) {
      return text + ", ...";
    }
    text += (listed == 1 ? " " : ", ") + value_text(traces, part, judgement.differs) + " on rank " +
            rank_text(members[part.member].rank);
  }
  return text +
         (judgement.verdict == Verdict::kUndecided ? " (undecided: records may be lost)" : "");
}

}  // namespace ringside::match
