// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/verdict/describe.h"

#include <algorithm>
#include <map>
#include <utility>

#include "analyzer/match/group_patterns.h"
#include "analyzer/model/call_site.h"
#include "analyzer/model/joined.h"
#include "plugin/assemble/operation_name.h"

namespace ringside::match {
namespace {

constexpr char kUnknown[] = "unknown";
constexpr char kInferred[] =
    " (undecided: it is only inferred that these ranks are of one communicator)";

std::string value_text(const model::Traces& traces, const Part& part, Difference what) {
  const model::Operation& operation = operation_of(traces, part);
  const auto number = [](const auto& value) { return value ? std::to_string(*value) : kUnknown; };
  switch (what) {
    case Difference::kDatatype:
      return operation.datatype == model::kNoName
                 ? kUnknown
                 : datatype_name(traces.names.text(operation.datatype));
    case Difference::kRoot:
      return number(operation.root);
    case Difference::kBytes:
      return number(operation.bytes);
    case Difference::kCount:
      return number(operation.count);
    case Difference::kTotals:
      return number(operation.surplus);
    case Difference::kState:
      return is_finished(operation) ? "finished"
             : operation.in_flight  ? "in flight"
                                    : "not finished";
    case Difference::kNone:
    case Difference::kFunction:
      break;
  }
  return "";
}

void mark_minority(std::vector<Side>& sides, Difference what) {
  std::size_t largest = 0;
  std::size_t times = 0;
  for (const Side& side : sides) {
    times = side.ranks.size() > largest ? 1 : times + (side.ranks.size() == largest ? 1 : 0);
    largest = std::max(largest, side.ranks.size());
  }
  for (Side& side : sides) {
    side.is_minority = times == 1 && side.ranks.size() < largest && what != Difference::kTotals &&
                       (what != Difference::kState || side.did == "in flight");
  }
}

std::string at_call_sites(const char* words, const model::Traces& traces,
                          const std::vector<Caller>& callers) {
  return callers.empty() ? "" : words + call_sites(traces, callers);
}

bool is_a_tie(const std::vector<Side>& sides) {
  return std::none_of(sides.begin(), sides.end(), [](const Side& s) { return s.is_minority; });
}

void add_caller(const model::Traces& traces, const Part& part, std::uint32_t rank,
                std::vector<Caller>& callers) {
  const model::NameId called_by = operation_of(traces, part).called_by;
  if (called_by != model::kNoName) {
    callers.push_back({rank, called_by});
  }
}

// A send or receive that names another peer than the rank that waits for it.
std::string contradiction_text(const Matches& matches, const MatchedOperation& operation,
                               std::uint32_t awaited_by) {
  const auto& members = matches.communicators[operation.communicator].members;
  const auto rank = members[parts_of(matches, operation).front().member].rank;
  return "; rank " + std::to_string(awaited_by) +
         (rank == operation.source
              ? " waits for a send of this size from rank " + std::to_string(operation.source)
              : " has a send of this size to rank " + std::to_string(operation.destination)) +
         " in its place: the two ranks name different peers";
}

std::size_t count_linked(const std::vector<Judgement>& judgements, std::size_t index) {
  std::size_t count = 1;
  for (std::size_t i = judgements[index].other; i != index; i = judgements[i].other) {
    ++count;
  }
  return count;
}

}  // namespace

std::string datatype_name(std::string_view recorded) {
  constexpr std::string_view kPrefix = "nccl";
  std::string name(recorded.substr(recorded.starts_with(kPrefix) ? kPrefix.size() : 0));
  if (name.size() < recorded.size() && name[0] >= 'A' && name[0] <= 'Z') {
    name[0] = static_cast<char>(name[0] - 'A' + 'a');
  }
  return name;
}

std::vector<Side> sides_of(const model::Traces& traces, const Matches& matches,
                           const std::vector<Judgement>& judgements, std::size_t index) {
  const Difference what = judgements[index].difference;
  if (what == Difference::kNone) {
    return {};
  }
  std::map<std::string, Side> found;
  std::size_t i = index;
  do {
    const MatchedOperation& operation = matches.operations[i];
    const auto& members = matches.communicators[operation.communicator].members;
    const auto& callers = judgements[i].callers;
    for (const Part& part : parts_of(matches, operation)) {
      if ((judgements[i].is_another_order || !callers.empty()) &&
          !std::binary_search(callers.begin(), callers.end(), part.member)) {
        continue;
      }
      const std::string did = what == Difference::kFunction ? operation_text(traces, operation)
                                                            : value_text(traces, part, what);
      if (did == kUnknown && is_damaged(traces.files[part.file], part.operation)) {
        continue;  // what is not known is no side
      }
      Side& here = found[did];
      // A member whose rank is not known is named by its index.
      const std::uint32_t rank = members[part.member].rank.value_or(part.member);
      if (here.ranks.empty() || here.ranks.back() != rank) {  // in a group it has several parts
        here.ranks.push_back(rank);
        add_caller(traces, part, rank, here.callers);
      }
    }
    i = judgements[i].other;
  } while (what == Difference::kFunction && i != index);
  std::vector<Side> sides;
  for (auto& [did, side] : found) {
    std::sort(side.ranks.begin(), side.ranks.end());
    side.did = did;
    sides.push_back(std::move(side));
  }
  if (!judgements[index].is_of_inferred) {
    mark_minority(sides, what);
  }
  std::sort(sides.begin(), sides.end(), [](const Side& a, const Side& b) {
    return a.is_minority != b.is_minority ? a.is_minority : a.ranks < b.ranks;
  });
  return sides;
}

std::vector<Caller> callers_of(const model::Traces& traces, const Matches& matches,
                               const MatchedOperation& operation) {
  const auto& members = matches.communicators[operation.communicator].members;
  std::vector<Caller> callers;
  for (const Part& part : parts_of(matches, operation)) {
    add_caller(traces, part, members[part.member].rank.value_or(part.member), callers);
  }
  return callers;
}

std::vector<std::uint32_t> damaged_ranks(const model::Traces& traces, const Matches& matches,
                                         const MatchedOperation& operation) {
  const auto& members = matches.communicators[operation.communicator].members;
  std::vector<std::uint32_t> ranks;
  for (const Part& part : parts_of(matches, operation)) {
    const std::uint32_t rank = members[part.member].rank.value_or(part.member);
    if (is_damaged(traces.files[part.file], part.operation) &&
        (ranks.empty() || ranks.back() != rank)) {
      ranks.push_back(rank);
    }
  }
  return ranks;
}

model::NameId name_of_first(const model::Traces& traces, const Matches& matches,
                            const MatchedOperation& operation,
                            model::NameId model::Operation::*member) {
  for (const Part& part : parts_of(matches, operation)) {
    if (const model::NameId name = operation_of(traces, part).*member; name != model::kNoName) {
      return name;
    }
  }
  return model::kNoName;
}

std::string call_sites(const model::Traces& traces, const std::vector<Caller>& callers) {
  constexpr std::size_t kListed = 4;
  std::map<std::string_view, std::vector<std::uint32_t>> ranks_of_site;
  for (const Caller& caller : callers) {
    auto& ranks = ranks_of_site[model::call_site(traces.names.text(caller.called_by))];
    if (ranks.empty() || ranks.back() != caller.rank) {
      ranks.push_back(caller.rank);
    }
  }
  std::vector<std::string> sites;
  for (auto& [site, ranks] : ranks_of_site) {
    std::sort(ranks.begin(), ranks.end());
    sites.push_back(ranks_of_site.size() == 1 ? std::string(site)
                                              : std::string(site) + " (" + rank_list(ranks) + ')');
  }
  return model::joined(sites, kListed);
}

std::string rank_ranges(std::vector<std::uint32_t> ranks, std::size_t most) {
  std::sort(ranks.begin(), ranks.end());
  std::string text;
  std::size_t listed = 0;
  for (std::size_t i = 0; i < ranks.size(); ++listed) {
    if (listed == most) {
      return text + " and " + std::to_string(ranks.size() - i) + " more";
    }
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) {
      ++last;
    }
    if (last - i < 2) {  // a range of two is written as two ranks
      last = i;
    }
    text += (i == 0 ? "" : ", ") + std::to_string(ranks[i]) +
            (last > i ? '-' + std::to_string(ranks[last]) : "");
    i = last + 1;
  }
  return text;
}

std::string rank_list(const std::vector<std::uint32_t>& ranks) {
  constexpr std::size_t kListed = 8;
  return (ranks.size() == 1 ? "rank " : "ranks ") + rank_ranges(ranks, kListed);
}

std::string_view function_name(const model::Traces& traces, const MatchedOperation& operation) {
  if (operation.way == Way::kPair) {
    return "SendRecv";
  }
  return operation.way == Way::kGroup ? pattern_name(operation.pattern)
                                      : traces.names.text(operation.func);
}

std::string operation_text(const model::Traces& traces, const MatchedOperation& operation) {
  std::string text = assemble::numbered(function_name(traces, operation), operation.number);
  if (operation.way == Way::kPair) {
    text += " from rank " + std::to_string(operation.source) + " to rank " +
            std::to_string(operation.destination);
  }
  if (operation.occurrence > 0) {
    text += " (occurrence " + std::to_string(operation.occurrence + 1) + ")";
  }
  return text;
}

std::string subject_text(const model::Traces& traces, const Matches& matches,
                         const std::vector<Judgement>& judgements, std::size_t index) {
  const MatchedOperation& operation = matches.operations[index];
  const Judgement& judgement = judgements[index];
  if (!judgement.is_number_unknown) {
    return operation_text(traces, operation);
  }
  const std::size_t count = count_linked(judgements, index);
  const std::string text = std::string(traces.names.text(operation.func)) + ", " +
                           (count == 1 ? "one" : std::to_string(count));
  return judgement.one_of ? text + " of #" + std::to_string(judgement.one_of->first) + " to #" +
                                std::to_string(judgement.one_of->second)
                          : text + (count == 1 ? " call" : " calls");
}

namespace {

// What a rank did of a send to itself, and what it did not.
const char* half_to_self(const model::Traces& traces, const Matches& matches,
                         const MatchedOperation& operation) {
  const Part part = parts_of(matches, operation).front();
  return traces.names.text(operation_of(traces, part).func) == "Send"
             ? " sends to itself, and does not receive that"
             : " receives from itself, and does not send that";
}

}  // namespace

std::string describe(const model::Traces& traces, const Matches& matches,
                     const std::vector<Judgement>& judgements, std::size_t index) {
  const MatchedOperation& operation = matches.operations[index];
  const Judgement& judgement = judgements[index];
  std::string text = subject_text(traces, matches, judgements, index) + ": ";
  if (judgement.is_damaged) {
    return text + "undecided: the record of it is damaged on " +
           rank_list(damaged_ranks(traces, matches, operation));
  }
  if (judgement.is_shifted) {
    return text + "a call before it that " +
           (!judgement.is_shifted_by_peer ? "a rank left out has shifted the pairs"
            : judgement.awaited_by        ? "names another peer has shifted the pairs"
                                          : "no rank answers may have shifted the pairs");
  }
  if (judgement.difference == Difference::kNone) {
    const auto ranks = absent_ranks(matches, operation, judgement);
    const std::string listed = ranks.empty() ? "a rank without trace" : rank_list(ranks);
    return text +
           (judgement.verdict == Verdict::kMissing && is_to_self(operation)
                ? listed + half_to_self(traces, matches, operation)
            : is_left_out(judgement) ? listed + " did not call it"
            : judgement.verdict == Verdict::kUndecided
                ? "which call of " + listed + " it is cannot be decided"
                : "it is not recorded on " + listed) +
           (judgement.is_number_unknown
                ? judgement.one_of
                      ? " (which is not known: these calls are alike)"
                      : " (which is not known: the order of its calls does not show it)"
            : judgement.is_found_by_order ? " (from there on numbers are of later calls there)"
                                          : "") +
           (judgement.awaited_by ? contradiction_text(matches, operation, *judgement.awaited_by)
                                 : "") +
           at_call_sites("; called at ", traces, callers_of(traces, matches, operation)) +
           (judgement.is_of_inferred ? kInferred : "");
  }
  text +=
      judgement.difference == Difference::kTotals
          ? "the ranks together do not take as many elements as they give; more given than taken:"
          : difference_name(judgement.difference);
  const auto sides = sides_of(traces, matches, judgements, index);
  constexpr std::size_t kListed = 8;
  for (std::size_t i = 0; i < std::min(sides.size(), kListed); ++i) {
    text += (i == 0 ? " " : ", ") + sides[i].did + " on " + rank_list(sides[i].ranks) +
            (sides[i].is_minority ? " (the minority)" : "") +
            at_call_sites(" at ", traces, sides[i].callers);
  }
  if (sides.size() > kListed) {
    text += ", ...";
  }
  if (judgement.difference != Difference::kState && judgement.difference != Difference::kTotals &&
      !judgement.is_of_inferred && is_a_tie(sides)) {
    text += " (a tie)";
  }
  if (judgement.is_another_order) {
    text += "; all made these " + std::to_string(count_linked(judgements, index)) +
            " calls, in different orders";
  }
  if (judgement.verdict == Verdict::kUndecided) {
    text += judgement.is_of_inferred ? kInferred
            : operation.way == Way::kSequence
                ? " (undecided: before it the ranks stop agreeing on the order of their calls)"
                : " (undecided: records may be lost)";
  }
  return text;
}

}  // namespace ringside::match
