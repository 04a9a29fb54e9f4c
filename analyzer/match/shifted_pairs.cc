// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/shifted_pairs.h"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace ringside::match {
namespace {

// The pairs of one source and destination: first those that both sides have, then those that one
// has.
struct PairLane {
  std::size_t first = 0;  // indices into Matches::operations
  std::size_t alone = 0;
  std::size_t last = 0;
  std::uint32_t longer = 0;   // the member that made more calls
  std::uint32_t shorter = 0;  // the other one
};

bool is_size_mismatch(const Judgement& judgement) {
  return judgement.verdict == Verdict::kSizeMismatch && judgement.difference == Difference::kBytes;
}

std::optional<PairLane> find_lane(const Matches& matches, std::size_t first, std::size_t last,
                                  const std::vector<Judgement>& judgements) {
  PairLane lane{first, first, last};
  while (lane.alone < last && matches.operations[lane.alone].part_count == 2) {
    ++lane.alone;
  }
  const auto begin = judgements.begin();
  const bool has_mismatch =
      std::any_of(begin + static_cast<std::ptrdiff_t>(first),
                  begin + static_cast<std::ptrdiff_t>(lane.alone), is_size_mismatch);
  if (!has_mismatch || lane.alone == last) {
    return std::nullopt;
  }
  lane.longer = (*parts_of(matches, matches.operations[lane.alone]).begin()).member;
  for (std::size_t i = lane.alone; i < last; ++i) {
    const auto parts = parts_of(matches, matches.operations[i]);
    if (parts.size() != 1 || (*parts.begin()).member != lane.longer ||
        judgements[i].verdict != Verdict::kMissing || judgements[i].left_out_by.size() != 1) {
      return std::nullopt;
    }
  }
  lane.shorter = judgements[lane.alone].left_out_by.front();
  return lane;
}

std::vector<std::uint64_t> sizes_of(const model::Traces& traces, const Matches& matches,
                                    std::size_t first, std::size_t last, std::uint32_t member) {
  std::vector<std::uint64_t> sizes;
  for (std::size_t i = first; i < last; ++i) {
    for (const Part& part : parts_of(matches, matches.operations[i])) {
      if (part.member == member) {
        sizes.push_back(execution_of(traces, part).bytes.value_or(0));
      }
    }
  }
  return sizes;
}

// Which calls of the longer side the shorter one has not: as late as can be where several are
// alike. Nothing if other sizes differ, too.
std::vector<std::size_t> find_left_out(const std::vector<std::uint64_t>& longer,
                                       const std::vector<std::uint64_t>& shorter) {
  std::vector<std::size_t> left_out;
  std::size_t next = 0;
  for (std::size_t i = 0; i < longer.size(); ++i) {
    if (next < shorter.size() && shorter[next] == longer[i]) {
      ++next;
    } else {
      left_out.push_back(i);
    }
  }
  return next == shorter.size() ? left_out : std::vector<std::size_t>();
}

void explain(const model::Traces& traces, const Matches& matches, const PairLane& lane,
             std::vector<Judgement>& judgements) {
  const auto left_out =
      find_left_out(sizes_of(traces, matches, lane.first, lane.last, lane.longer),
                    sizes_of(traces, matches, lane.first, lane.alone, lane.shorter));
  if (left_out.empty()) {
    return;
  }
  for (std::size_t i = lane.first + left_out.front(); i < lane.last; ++i) {
    if (is_size_mismatch(judgements[i]) || judgements[i].verdict == Verdict::kMissing) {
      judgements[i] = {Verdict::kUndecided};
      judgements[i].is_shifted = true;
    }
  }
  for (const std::size_t i : left_out) {
    Judgement& missing = judgements[lane.first + i];
    missing = {Verdict::kMissing};
    missing.left_out_by = {lane.shorter};
    missing.is_found_by_order = true;
  }
}

}  // namespace

void explain_shifted_pairs(const model::Traces& traces, const Matches& matches, std::size_t first,
                           std::size_t last, std::vector<Judgement>& judgements) {
  const auto& operations = matches.operations;
  for (std::size_t end = first; first < last; first = end) {
    const MatchedOperation& one = operations[first];
    while (end < last && operations[end].way == one.way && operations[end].source == one.source &&
           operations[end].destination == one.destination) {
      ++end;
    }
    if (one.way != Way::kPair || is_to_self(one)) {
      continue;
    }
    if (const auto lane = find_lane(matches, first, end, judgements)) {
      explain(traces, matches, *lane, judgements);
    }
  }
}

}  // namespace ringside::match
