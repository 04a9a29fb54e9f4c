// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/verdict/function_mismatch.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "analyzer/match/executions.h"
#include "analyzer/match/verdict/call_order.h"
#include "analyzer/match/verdict/findings.h"
#include "analyzer/match/verdict/left_out.h"
#include "analyzer/match/verdict/shifted_pairs.h"
#include "analyzer/match/verdict/signed_calls.h"
#include "analyzer/model/parallel.h"

namespace ringside::match {
namespace {

// This many later calls decide whether a member called another function, or made one call more or
// less.
constexpr std::size_t kCallsAfter = 8;
// One thread judges so many operations at a time.
constexpr std::size_t kPortion = 1024;

// True if both made the same calls for a while from these two places on. False if there are too few
// calls.
bool go_on_alike(const std::vector<SignedCall>& a, std::size_t at, const std::vector<SignedCall>& b,
                 std::size_t other) {
  constexpr std::size_t kLeast = 2;
  std::size_t alike = 0;
  while (alike < kCallsAfter && at + alike < a.size() && other + alike < b.size()) {
    if (a[at + alike].signature != b[other + alike].signature) {
      return false;
    }
    ++alike;
  }
  return alike >= kLeast;
}

// True if the members called different functions at this place and the same ones after it. Each of
// these operations may have a partner of its number elsewhere.
bool is_substitution(const SignedCalls& calls, std::size_t place,
                     const std::map<std::size_t, std::vector<std::uint32_t>>& members_of) {
  const auto most = std::max_element(
      members_of.begin(), members_of.end(),
      [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  const std::vector<SignedCall>& usual = calls[most->second.front()];
  for (const auto& [operation, members] : members_of) {
    const std::vector<SignedCall>& here = calls[members.front()];
    if (operation != most->first && (!go_on_alike(here, place + 1, usual, place + 1) ||
                                     go_on_alike(here, place + 1, usual, place) ||
                                     go_on_alike(here, place, usual, place + 1))) {
      return false;
    }
  }
  return true;
}

void claim_mismatch(const std::set<std::size_t>& here, std::vector<Judgement>& judgements) {
  for (auto i = here.begin(); i != here.end(); ++i) {
    const auto next = std::next(i) == here.end() ? here.begin() : std::next(i);
    judgements[*i] = {Verdict::kFunctionMismatch, Difference::kFunction, *next};
  }
}

// True if this call was the only one of its group, as far as the member's records go.
bool is_alone_in_group(const std::vector<SignedCall>& calls, std::size_t place) {
  const std::uint64_t group = calls[place].group;
  const bool is_before = place > 0 && calls[place - 1].group == group;
  const bool is_after = place + 1 < calls.size() && calls[place + 1].group == group;
  return group == 0 || !(is_before || is_after);
}

// How complete the traces of a communicator's members are, all together.
struct Completeness {
  bool is_whole = true;     // all traces are complete
  bool is_so_far = true;    // up to the last call of each, and from its recorded_from on
  bool are_turned = false;  // some have a recorded_from

  explicit Completeness(const std::vector<Member>& members) {
    for (const Member& member : members) {
      is_whole = is_whole && member.is_complete;
      is_so_far = is_so_far && (member.is_complete_so_far || member.recorded_from);
      are_turned = are_turned || member.recorded_from;
    }
  }
};

// Stands at a place where a member has no call, since newer records have overwritten it.
constexpr SignedCall kNoCall = {SIZE_MAX};

bool has_call(const std::vector<SignedCall>& calls, std::size_t place) {
  return place < calls.size() && calls[place].operation != kNoCall.operation;
}

// False if some were aligned, which gives them numbers of their own.
bool have_numbers(const Matches& matches, const SignedCalls& calls) {
  return std::all_of(calls.begin(), calls.end(), [&](const std::vector<SignedCall>& of_member) {
    return std::all_of(of_member.begin(), of_member.end(), [&](const SignedCall& call) {
      return matches.operations[call.operation].way == Way::kSequence;
    });
  });
}

// Puts all calls of one number, which all functions share, at the same places. Calls that are made
// together have one number, and a place each.
void put_in_place(const std::vector<Member>& members, const Matches& matches, SignedCalls& calls) {
  const auto number_of = [&](const SignedCall& call) {
    return matches.operations[call.operation].number;
  };
  std::map<std::uint64_t, std::size_t> places;  // by number: how many calls have it, at most
  for (std::size_t member = 0; member < calls.size(); ++member) {
    std::map<std::uint64_t, std::size_t> own;
    for (const SignedCall& call : calls[member]) {
      std::size_t& most = places[number_of(call)];
      most = std::max(most, ++own[number_of(call)]);
    }
  }
  std::size_t next = 0;
  for (auto& [number, first] : places) {
    next += std::exchange(first, next);
  }
  for (std::size_t member = 0; member < calls.size(); ++member) {
    std::vector<SignedCall> placed;
    for (const SignedCall& call : calls[member]) {
      const std::uint64_t number = number_of(call);
      if (number >= members[member].recorded_from.value_or(0)) {
        placed.resize(std::max(placed.size(), places.at(number)), kNoCall);
        placed.push_back(call);
      }
    }
    calls[member] = std::move(placed);
  }
}

// True if the members surely called different operations here. A member that was cut off may make
// the others' calls later, but here it made another one. NCCL reorders the calls of a group, and
// the end of the records may have cut off some of them.
bool is_mismatch_at(const SignedCalls& calls, std::size_t place, const Completeness& completeness,
                    const std::set<std::size_t>& here, const std::vector<Judgement>& judgements) {
  const bool are_alone =
      completeness.is_so_far && std::all_of(calls.begin(), calls.end(), [&](const auto& of_member) {
        return !has_call(of_member, place) || is_alone_in_group(of_member, place);
      });
  return std::all_of(here.begin(), here.end(), [&](std::size_t i) {
    return judgements[i].verdict == Verdict::kMissing ||
           (are_alone && judgements[i].verdict == Verdict::kNotRecorded);
  });
}

// The first place from which on a member's calls are those of most others, one place earlier or
// later. It left out a call, or made one more, there or where its records do not reach any more.
std::optional<std::size_t> first_shift(const SignedCalls& calls) {
  for (std::size_t place = 0;; ++place) {
    std::map<std::uint32_t, std::vector<std::size_t>> members_of;  // by signature
    for (std::size_t member = 0; member < calls.size(); ++member) {
      if (has_call(calls[member], place)) {
        members_of[calls[member][place].signature].push_back(member);
      }
    }
    if (members_of.empty()) {
      return std::nullopt;
    }
    const auto most = std::max_element(
        members_of.begin(), members_of.end(),
        [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
    const std::vector<SignedCall>& usual = calls[most->second.front()];
    for (const auto& [signature, members] : members_of) {
      const std::vector<SignedCall>& here = calls[members.front()];
      if (signature != most->first && !go_on_alike(here, place + 1, usual, place + 1) &&
          (go_on_alike(here, place, usual, place + 1) ||
           go_on_alike(here, place + 1, usual, place))) {
        return place;
      }
    }
  }
}

// Judges no call after this place, where calls of equal numbers do not belong together.
void give_up_after(std::size_t place, SignedCalls& calls, std::vector<Judgement>& judgements) {
  for (auto& of_member : calls) {
    for (std::size_t i = place + 1; i < of_member.size(); ++i) {
      if (!has_call(of_member, i)) {
        continue;
      }
      Judgement& judgement = judgements[of_member[i].operation];
      if (judgement.verdict == Verdict::kMissing || judgement.verdict == Verdict::kNotRecorded ||
          disagrees(judgement)) {
        judgement = {Verdict::kUndecided, Difference::kNone, 0};
      }
    }
    of_member.resize(std::min(of_member.size(), place + 1));
  }
}

void judge_places(const Matches& matches, const SignedCalls& calls,
                  const Completeness& completeness, std::vector<Judgement>& judgements) {
  for (std::size_t place = 0;; ++place) {
    std::set<std::size_t> here;
    std::size_t members_here = 0;
    for (const auto& of_member : calls) {
      if (has_call(of_member, place)) {
        here.insert(of_member[place].operation);
        ++members_here;
      }
    }
    if (here.empty() || (members_here < calls.size() && !completeness.is_so_far)) {
      return;
    }
    if (here.size() == 1) {
      continue;
    }
    // All parts are at this place if there are as many as members.
    std::size_t parts = 0;
    std::set<model::NameId> functions;
    for (const std::size_t i : here) {
      parts += matches.operations[i].part_count;
      functions.insert(matches.operations[i].func);
    }
    const bool is_mismatch = parts == members_here && functions.size() == here.size() &&
                             is_mismatch_at(calls, place, completeness, here, judgements);
    if (!is_mismatch) {
      if (!completeness.is_whole || members_here < calls.size()) {
        return;
      }
      withdraw_from(place, calls, judgements);
      std::map<std::size_t, std::vector<std::uint32_t>> members_of;
      for (std::uint32_t member = 0; member < calls.size(); ++member) {
        members_of[calls[member][place].operation].push_back(member);
      }
      if (functions.size() == here.size() && is_substitution(calls, place, members_of)) {
        claim_mismatch(here, judgements);
        for (auto& [operation, members] : members_of) {
          judgements[operation].callers = std::move(members);
        }
      }
      return;
    }
    claim_mismatch(here, judgements);
  }
}

bool is_doubtful(const MatchedOperation& operation, const Judgement& judgement) {
  return operation.way != Way::kPair &&
         (judgement.verdict == Verdict::kMissing || disagrees(judgement));
}

// All operations of one communicator.
struct Stretch {
  std::size_t first = 0;
  std::size_t last = 0;
  CutOff cut_off;
};

std::vector<Stretch> find_stretches(const model::Traces& traces, const Matches& matches) {
  std::vector<Stretch> stretches;
  const auto& operations = matches.operations;
  for (std::size_t first = 0, last = 0; first < operations.size(); first = last) {
    while (last < operations.size() &&
           operations[last].communicator == operations[first].communicator) {
      ++last;
    }
    stretches.push_back({first, last, CutOff(traces, matches, first, last)});
  }
  return stretches;
}

// Each by itself, on all cores.
std::vector<Judgement> judge_each(const model::Traces& traces, const Matches& matches,
                                  const CommonClock& clock, const std::vector<Stretch>& stretches) {
  std::vector<Judgement> judgements(matches.operations.size());
  in_parallel(
      judgements.size() / kPortion + 1, 0, [&] { return StateMismatch(traces, clock); },
      [&](std::size_t portion, StateMismatch& states) {
        const std::size_t begin = portion * kPortion;
        auto stretch = std::upper_bound(
            stretches.begin(), stretches.end(), begin,
            [](std::size_t index, const Stretch& one) { return index < one.last; });
        std::vector<std::uint32_t> some;
        for (const std::uint32_t i : portion_of(begin, kPortion, judgements.size())) {
          const MatchedOperation& operation = matches.operations[i];
          const Communicator& communicator = matches.communicators[operation.communicator];
          if (communicator.is_alike && operation.part_count == communicator.members.size()) {
            judgements[i].verdict = agreed_verdict(communicator);
          } else {
            some.push_back(i);
          }
        }
        const std::vector<Comparison> compared = compare_ranks(traces, matches, some);
        for (std::size_t i = 0; i < some.size(); ++i) {
          while (some[i] >= stretch->last) {
            ++stretch;
          }
          judgements[some[i]] = judge(traces, matches, matches.operations[some[i]], compared[i],
                                      stretch->cut_off, states);
        }
      });
  return judgements;
}

// A rank whose record of the call with some number is damaged may have called any function there.
// So it is not said to have left out an operation of that number: if nobody else has, the operation
// is not recorded. [first, last) are the operations of one communicator.
void excuse_damaged_calls(const model::Traces& traces, const Matches& matches, std::size_t first,
                          std::size_t last, std::vector<Judgement>& judgements) {
  const auto is_missing = [&](std::size_t i) {
    return judgements[i].verdict == Verdict::kMissing && !judgements[i].is_number_unknown &&
           matches.operations[i].way == Way::kSequence;
  };
  std::set<std::uint64_t> numbers;  // of operations that are missing
  for (std::size_t i = first; i < last; ++i) {
    if (is_missing(i)) {
      numbers.insert(matches.operations[i].number);
    }
  }
  if (numbers.empty() || std::all_of(traces.files.begin(), traces.files.end(),
                                     [](const auto& file) { return file.doubtful.empty(); })) {
    return;
  }
  std::set<std::pair<std::uint64_t, std::uint32_t>> damaged;  // numbers, and members
  for (std::size_t i = first; i < last; ++i) {
    const MatchedOperation& operation = matches.operations[i];
    if (operation.way != Way::kSequence || !numbers.contains(operation.number)) {
      continue;
    }
    for (const Part& part : parts_of(matches, operation)) {
      if (is_damaged(traces.files[part.file], part.operation)) {
        damaged.insert({operation.number, part.member});
      }
    }
  }
  for (std::size_t i = first; i < last; ++i) {
    auto& members = judgements[i].left_out_by;
    if (is_missing(i) &&
        std::erase_if(members,
                      [&](std::uint32_t member) {
                        return damaged.contains({matches.operations[i].number, member});
                      }) > 0 &&
        members.empty()) {
      judgements[i] = {Verdict::kNotRecorded, Difference::kNone, 0};
    }
  }
}

// Compares the calls of all ranks of a communicator, which takes memory for each of them. So it is
// done only if numbers alone do not tell.
void judge_together(const model::Traces& traces, const Matches& matches, const Stretch& stretch,
                    std::vector<Judgement>& judgements) {
  const auto& [first, last, cut_off] = stretch;
  bool is_doubted = cut_off.lacks_any();  // the reason cannot be told by numbers alone
  bool has_missing = false;
  for (std::size_t i = first; i < last; ++i) {
    is_doubted = is_doubted || is_doubtful(matches.operations[i], judgements[i]);
    has_missing = has_missing || judgements[i].verdict == Verdict::kMissing;
  }
  if (!may_differ_in_order(traces, matches, first, last, is_doubted)) {
    return;
  }
  const auto& members = matches.communicators[matches.operations[first].communicator].members;
  Completeness completeness(members);
  SignedCalls calls = calls_by_member(traces, matches, first, last);
  const Explained explained =
      explain_missing(traces, matches, first, last, calls, cut_off, judgements);
  // If a call is missing, the numbers after it are those of later calls, which looks like another
  // order.
  const bool is_another_order =
      explained != Explained::kByCalls && !has_missing && judge_order(matches, calls, judgements);
  if (explained != Explained::kByCalls && !is_another_order) {
    completeness.is_so_far =
        completeness.is_so_far && (!completeness.are_turned || have_numbers(matches, calls));
    if (completeness.is_so_far && completeness.are_turned) {
      put_in_place(members, matches, calls);
      if (const auto place = first_shift(calls)) {
        give_up_after(*place, calls, judgements);
      }
    }
    judge_places(matches, calls, completeness, judgements);
  }
  if (explained == Explained::kNot) {
    doubt_numbers(matches, first, last, judgements);
  }
}

// Ranks that are only taken to be of one communicator have disagreed with nobody, if they are not;
// and where no other rank of it is known, nobody has agreed.
void doubt_identity(const Matches& matches, const Stretch& stretch,
                    std::vector<Judgement>& judgements) {
  const Communicator& communicator =
      matches.communicators[matches.operations[stretch.first].communicator];
  const bool is_alone = !communicator.why_alone.empty();
  const bool is_doubtful = is_alone || communicator.identity == Identity::kOrder;
  for (std::size_t i = stretch.first; i < stretch.last && is_doubtful; ++i) {
    if (is_alone && !is_to_self(matches.operations[i])) {
      judgements[i] = {Verdict::kUndecided, Difference::kNone, 0};
    } else if (gravity(judgements[i].verdict) > gravity(Verdict::kUndecided) &&
               !is_to_self(matches.operations[i])) {
      judgements[i].verdict = Verdict::kUndecided;
      judgements[i].is_of_inferred = true;
    }
  }
}

}  // namespace

std::vector<Judgement> judge_all(const model::Traces& traces, const Matches& matches) {
  return judge_all(traces, matches, realtime_clock(traces));
}

std::vector<Judgement> judge_all(const model::Traces& traces, const Matches& matches,
                                 const CommonClock& clock) {
  const std::vector<Stretch> stretches = find_stretches(traces, matches);
  std::vector<Judgement> judgements = judge_each(traces, matches, clock, stretches);
  for (const Stretch& stretch : stretches) {
    excuse_damaged_calls(traces, matches, stretch.first, stretch.last, judgements);
    judge_together(traces, matches, stretch, judgements);
    excuse_damaged_calls(traces, matches, stretch.first, stretch.last, judgements);
    explain_shifted_pairs(traces, matches, stretch.first, stretch.last, judgements);
    doubt_identity(matches, stretch, judgements);
  }
  return judgements;
}

bool is_first_of_its_place(const std::vector<Judgement>& judgements, std::size_t index) {
  if (judgements[index].difference != Difference::kFunction &&
      !judgements[index].is_number_unknown) {
    return true;
  }
  for (std::size_t i = judgements[index].other; i != index; i = judgements[i].other) {
    if (i < index) {
      return false;
    }
  }
  return true;
}

}  // namespace ringside::match
