// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/match_sentences.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "analyzer/match/verdict/describe.h"
#include "analyzer/report/document/numbers.h"
#include "analyzer/report/summary/summary.h"
#include "plugin/assemble/message_bytes.h"
#include "plugin/assemble/operation_name.h"

namespace ringside::report {
namespace {

using match::Difference;
using match::Side;
using match::Verdict;

// "the other three", if these and `first` are all ranks of the communicator; else their list.
std::string others_text(const std::vector<std::uint32_t>& others, std::size_t first,
                        const match::Communicator& communicator) {
  constexpr std::array<const char*, 10> kNumbers = {"",     "",    "two",   "three", "four",
                                                    "five", "six", "seven", "eight", "nine"};
  if (others.size() < 2 || others.size() + first != communicator.nranks) {
    return match::rank_list(others);
  }
  return "the other " + (others.size() < kNumbers.size() ? std::string(kNumbers[others.size()])
                                                         : std::to_string(others.size()));
}

std::string at_beginning(std::string text) {
  text[0] = text[0] == 'r' ? 'R' : text[0];  // "rank 2"
  return text;
}

// The communicator's ranks that are in none of these lists.
std::vector<std::uint32_t> ranks_but(
    const match::Communicator& communicator,
    std::initializer_list<std::reference_wrapper<const std::vector<std::uint32_t>>> lists) {
  std::vector<std::uint32_t> ranks;
  for (std::uint32_t i = 0; i < communicator.members.size(); ++i) {
    const std::uint32_t rank = communicator.members[i].rank.value_or(i);
    if (std::none_of(lists.begin(), lists.end(), [&](const std::vector<std::uint32_t>& list) {
          return std::find(list.begin(), list.end(), rank) != list.end();
        })) {
      ranks.push_back(rank);
    }
  }
  return ranks;
}

// Whether the sentences below fit: one call that all know by one number, and few sides.
bool is_plain(const match::MatchedOperation& operation, const match::Judgement& judgement,
              const std::vector<Side>& sides) {
  constexpr std::size_t kMostSides = 4;
  const bool is_of_all =
      operation.way == match::Way::kSequence || operation.way == match::Way::kOrder;
  return (is_of_all || (operation.way == match::Way::kPair && sides.size() == 2 &&
                        judgement.verdict == Verdict::kSizeMismatch)) &&
         judgement.verdict != Verdict::kUndecided && judgement.difference != Difference::kTotals &&
         !judgement.is_number_unknown && !judgement.is_another_order && sides.size() <= kMostSides;
}

}  // namespace

std::vector<std::string> side_texts(const model::Traces& traces, const match::Matches& matches,
                                    const match::MatchedOperation& operation,
                                    const std::vector<Side>& sides, Difference difference) {
  std::vector<std::string> texts;
  texts.reserve(sides.size());
  if (difference != Difference::kBytes && difference != Difference::kCount) {
    std::transform(sides.begin(), sides.end(), std::back_inserter(texts),
                   [](const Side& side) { return side.did; });
    return texts;
  }
  const auto parts = match::parts_of(matches, operation);
  const model::Operation first = match::operation_of(traces, *parts.begin());
  const auto datatype = first.datatype;
  const bool is_one = std::all_of(parts.begin(), parts.end(), [&](const match::Part& part) {
    return match::operation_of(traces, part).datatype == datatype;
  });
  std::vector<std::optional<std::uint64_t>> numbers;
  std::vector<std::optional<std::uint64_t>> sizes_bytes;
  numbers.reserve(sides.size());
  sizes_bytes.reserve(sides.size());
  std::set<std::uint64_t> known_bytes;
  for (const Side& side : sides) {
    std::uint64_t number = 0;
    const char* const end = side.did.data() + side.did.size();
    const bool is_number = std::from_chars(side.did.data(), end, number).ptr == end;
    numbers.push_back(is_number ? std::optional(number) : std::nullopt);
    std::optional<std::uint64_t> bytes;
    if (is_number && difference == Difference::kBytes) {
      bytes = number;
    } else if (is_number && is_one && !first.bytes) {  // else bytes are equal, and counts differ
      bytes = assemble::message_bytes(number, traces.names.text(datatype));
    }
    sizes_bytes.push_back(bytes);
    if (bytes) {
      known_bytes.insert(*bytes);
    }
  }
  const bool is_exact = look_alike(known_bytes);
  for (std::size_t i = 0; i < sides.size(); ++i) {
    texts.push_back(!numbers[i]       ? "a size that is not known"
                    : !sizes_bytes[i] ? counted(*numbers[i], "element")
                    : is_exact        ? counted(*sizes_bytes[i], "byte")
                                      : human_bytes(*sizes_bytes[i]));
  }
  return texts;
}

std::string match_sentence(const model::Traces& traces, const match::Matches& matches,
                           const std::vector<match::Judgement>& judgements, std::size_t index) {
  const match::MatchedOperation& operation = matches.operations[index];
  const match::Judgement& judgement = judgements[index];
  const match::Communicator& communicator = matches.communicators[operation.communicator];
  const std::string label = label_of(communicator);
  const std::vector<Side> sides = match::sides_of(traces, matches, judgements, index);
  if (judgement.verdict == Verdict::kMissing && judgement.is_number_unknown &&
      judgement.other == index) {
    const std::string one = !judgement.one_of
                                ? "one call of"
                                : "one of the calls #" + std::to_string(judgement.one_of->first) +
                                      " to #" + std::to_string(judgement.one_of->second) + " of";
    const auto absent = match::absent_ranks(matches, operation, judgement);
    if (2 * absent.size() > communicator.members.size()) {
      const std::vector<std::uint32_t> made = ranks_but(communicator, {absent});
      return at_beginning(match::rank_list(made)) + " made " + one + ' ' +
             std::string(match::function_name(traces, operation)) + " of communicator " + label +
             " that " + match::rank_list(absent) + " did not make; which one is not known";
    }
    return at_beginning(match::rank_list(absent)) + " left out " + one + ' ' +
           std::string(match::function_name(traces, operation)) + " that others of communicator " +
           label + " made; which one is not known";
  }
  if (!is_plain(operation, judgement, sides)) {
    return "Communicator " + label + ": " + match::describe(traces, matches, judgements, index);
  }
  const std::string name = match::operation_text(traces, operation) + " of communicator " + label;
  if (judgement.difference == Difference::kNone) {
    const auto absent = match::absent_ranks(matches, operation, judgement);
    if (absent.empty()) {
      return "Communicator " + label + ": " + match::describe(traces, matches, judgements, index);
    }
    const std::string sites =
        match::call_sites(traces, match::callers_of(traces, matches, operation));
    std::vector<std::uint32_t> made;
    if (judgement.is_found_by_order) {  // others have another call of this number
      made = ranks_but(communicator, {absent});
    } else {
      for (const match::Part& part : match::parts_of(matches, operation)) {
        made.push_back(communicator.members[part.member].rank.value_or(part.member));
      }
    }
    const std::vector<std::uint32_t> unknown = ranks_but(communicator, {absent, made});
    const char* const shifted =
        judgement.is_found_by_order ? "; the numbers after it are shifted there" : "";
    if (judgement.verdict == Verdict::kMissing && !made.empty() &&
        (2 * absent.size() > communicator.members.size() || !unknown.empty())) {
      return at_beginning(match::rank_list(made)) + " called " + name +
             (sites.empty() ? "" : " at " + sites) + ", and " + match::rank_list(absent) +
             " did not" + shifted +
             (unknown.empty() ? ""
                              : "; whether " + match::rank_list(unknown) + " did is not recorded");
    }
    return (judgement.verdict == Verdict::kMissing
                ? at_beginning(match::rank_list(absent)) + " did not call " + name + shifted
                : name + " is not recorded on " + match::rank_list(absent)) +
           (sites.empty() ? "" : "; the others called it at " + sites);
  }
  const auto who = [&](std::size_t i) {
    return i == 1 && sides.size() == 2
               ? others_text(sides[i].ranks, sides[0].ranks.size(), communicator)
               : match::rank_list(sides[i].ranks);
  };
  const std::vector<std::string> texts =
      side_texts(traces, matches, operation, sides, judgement.difference);
  if (operation.way == match::Way::kPair) {
    const std::size_t sender = sides[0].ranks.front() == operation.source ? 0 : 1;
    return "Rank " + std::to_string(operation.source) + " sends " + texts[sender] + " to rank " +
           std::to_string(operation.destination) + " in " +
           assemble::numbered(match::function_name(traces, operation), operation.number) +
           " of communicator " + label + "; that one receives " + texts[1 - sender];
  }
  std::vector<std::string> sites;
  sites.reserve(sides.size());
  for (const Side& side : sides) {
    sites.push_back(match::call_sites(traces, side.callers));
  }
  const bool is_one_site = std::equal(sites.begin() + 1, sites.end(), sites.begin());
  std::string text;
  for (std::size_t i = 0; i < sides.size(); ++i) {
    const std::string& did = sides[i].did;
    switch (judgement.verdict) {
      case Verdict::kSizeMismatch:
        text += who(i) + " gave " + (i == 0 ? name + ' ' : "") + texts[i];
        break;
      case Verdict::kFunctionMismatch:
        text +=
            who(i) + " called " + did + (i == 0 ? " of communicator " + label : " in its place");
        break;
      case Verdict::kStateMismatch:
        text.append(i == 0 ? name + " is " : "").append(did).append(" on ").append(who(i));
        break;
      default:
        text.append(who(i)).append(i == 0 ? " called " + name : "").append(" with ");
        text.append(judgement.difference == Difference::kRoot ? "root " : "").append(did);
    }
    text += is_one_site || sites[i].empty() ? "" : " at " + sites[i];
    text += i + 1 < sides.size() ? "; " : "";
  }
  text += is_one_site && !sites[0].empty() ? " (called at " + sites[0] + ')' : "";
  return at_beginning(std::move(text));
}

std::string around_text(const model::Traces& traces, const match::Matches& matches,
                        const match::MatchedOperation& operation) {
  const std::string& hash = matches.communicators[operation.communicator].hash;
  return hash.empty() ? ""
                      : hash + ':' + std::string(match::function_name(traces, operation)) + ':' +
                            std::to_string(operation.number);
}

}  // namespace ringside::report
