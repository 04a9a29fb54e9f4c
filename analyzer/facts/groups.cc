// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/groups.h"

#include <algorithm>
#include <optional>
#include <span>
#include <tuple>

namespace ringside::facts {
namespace {

// A collective, and the group of the call of its first rank.
struct Call {
  std::uint32_t communicator = 0;
  std::uint32_t file = 0;
  std::uint64_t group = 0;
  std::uint32_t operation = 0;

  auto place() const { return std::tie(communicator, file, group); }
};

std::optional<std::uint64_t> group_of(const model::Traces& traces, const match::Part& part) {
  return traces.files[part.file].operations.group(part.operation);
}

// Whether each rank that recorded one recorded the other in the same group.
bool are_together(const model::Traces& traces, const match::Matches& matches, std::uint32_t first,
                  std::uint32_t second) {
  const auto here = match::parts_of(matches, matches.operations[first]);
  const auto there = match::parts_of(matches, matches.operations[second]);
  return std::equal(here.begin(), here.end(), there.begin(), there.end(),
                    [&](const match::Part& a, const match::Part& b) {
                      const auto group = group_of(traces, a);
                      return a.member == b.member && group && group == group_of(traces, b);
                    });
}

}  // namespace

std::vector<std::vector<std::uint32_t>> find_groups(const model::Traces& traces,
                                                    const match::Matches& matches) {
  std::vector<Call> calls;
  for (std::uint32_t i = 0; i < matches.operations.size(); ++i) {
    const match::MatchedOperation& operation = matches.operations[i];
    if (operation.way == match::Way::kPair || operation.way == match::Way::kGroup) {
      continue;
    }
    const match::Part& first = matches.parts[operation.first_part];
    if (const auto group = group_of(traces, first)) {
      calls.push_back({operation.communicator, first.file, *group, i});
    }
  }
  std::sort(calls.begin(), calls.end(), [](const Call& a, const Call& b) {
    return std::tuple_cat(a.place(), std::tie(a.operation)) <
           std::tuple_cat(b.place(), std::tie(b.operation));
  });
  std::vector<std::vector<std::uint32_t>> found;
  for (std::size_t begin = 0, end = 0; begin < calls.size(); begin = end) {
    std::vector<std::uint32_t> together = {calls[begin].operation};
    for (end = begin + 1; end < calls.size() && calls[end].place() == calls[begin].place(); ++end) {
      if (are_together(traces, matches, calls[begin].operation, calls[end].operation)) {
        together.push_back(calls[end].operation);
      }
    }
    if (together.size() > 1) {
      found.push_back(std::move(together));
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace ringside::facts
