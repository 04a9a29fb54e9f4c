// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/verdict/shifted_pairs.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "analyzer/match/calls/entry.h"

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

// A send or receive that no other rank answers.
struct LoneCall {
  std::pair<std::int64_t, std::uint64_t> order;  // of the member's calls: time, then id
  std::uint64_t bytes = 0;
  std::optional<std::size_t> operation;  // nothing if its peer is not known
};
using LoneCalls = std::map<std::pair<std::uint32_t, bool>, std::vector<LoneCall>>;

LoneCall lone_call(const model::Operation& operation, std::optional<std::size_t> index) {
  return {{time_of(operation), operation.id}, operation.bytes.value_or(0), index};
}

// By member, and whether it sends.
LoneCalls find_lone_calls(const model::Traces& traces, const Matches& matches, std::size_t first,
                          std::size_t last) {
  LoneCalls found;
  const auto& members = matches.communicators[matches.operations[first].communicator].members;
  for (std::size_t i = first; i < last; ++i) {
    const MatchedOperation& operation = matches.operations[i];
    if (operation.way == Way::kPair && operation.part_count == 1 && !is_to_self(operation)) {
      const Part part = parts_of(matches, operation).front();
      found[{part.member, members[part.member].rank == operation.source}].push_back(
          lone_call(operation_of(traces, part), i));
    }
  }
  for (std::uint32_t m = 0; matches.unpaired > 0 && m < members.size(); ++m) {
    for (const model::Operation& operation : traces.files[members[m].file].operations) {
      const std::string_view func = traces.names.text(operation.func);
      if (operation.context == members[m].context && !operation.peer &&
          (func == "Send" || func == "Recv")) {
        found[{m, func == "Send"}].push_back(lone_call(operation, std::nullopt));
      }
    }
  }
  return found;
}

// The pairs of one source and destination, of which one side made more calls, and the calls of the
// other side that no rank answers.
class PeerContradiction {
 public:
  PeerContradiction(const model::Traces& traces, const Matches& matches, std::size_t first,
                    std::size_t last, std::vector<Judgement>& judgements)
      : traces_(traces), matches_(matches), first_(first), last_(last), judgements_(judgements) {}

  /// If such a call came before pairs whose sizes disagree, it may have shifted them: they are
  /// undecided. If all sizes agree with it in its place, both ranks name different peers. False if
  /// there is none.
  bool explain(const LoneCalls& lone_calls) {
    const auto& operations = matches_.operations;
    const auto& members = matches_.communicators[operations[first_].communicator].members;
    alone_ = first_;
    while (alone_ < last_ && operations[alone_].part_count == 2) {
      ++alone_;
    }
    if (alone_ == first_ || alone_ == last_) {
      return false;
    }
    const std::uint32_t longer = parts_of(matches_, operations[alone_]).front().member;
    const auto pair = parts_of(matches_, operations[first_]);
    shorter_ = pair[0].member == longer ? pair[1].member : pair[0].member;
    const auto lone =
        lone_calls.find({shorter_, members[shorter_].rank == operations[first_].source});
    if (lone == lone_calls.end()) {
      return false;
    }
    const auto earliest =
        std::min_element(lone->second.begin(), lone->second.end(),
                         [](const LoneCall& a, const LoneCall& b) { return a.order < b.order; });
    const bool is_proven = agrees_with(lone->second, longer);
    const auto awaited_by = is_proven ? members[longer].rank : std::nullopt;
    if (!mark_shifted(earliest->order, awaited_by)) {
      return false;
    }
    for (const LoneCall& call : lone->second) {
      if (call.operation && is_proven) {
        judgements_[*call.operation].awaited_by = awaited_by;
      }
    }
    return true;
  }

 private:
  // False if no size disagrees behind that call.
  bool mark_shifted(const std::pair<std::int64_t, std::uint64_t>& order,
                    std::optional<std::uint32_t> awaited_by) {
    bool is_shifted = false;
    for (std::size_t i = first_; i < last_; ++i) {
      const bool is_behind = i >= alone_ || order < shorter_call(i).order;
      if (is_behind && (is_size_mismatch(judgements_[i]) || (is_shifted && i >= alone_))) {
        judgements_[i] = {Verdict::kUndecided};
        judgements_[i].is_shifted = true;
        judgements_[i].is_shifted_by_peer = true;
        judgements_[i].awaited_by = awaited_by;
        is_shifted = true;
      }
    }
    return is_shifted;
  }

  LoneCall shorter_call(std::size_t i) const {
    const auto pair = parts_of(matches_, matches_.operations[i]);
    return lone_call(operation_of(traces_, pair[pair[0].member == shorter_ ? 0 : 1]), i);
  }

  bool agrees_with(std::vector<LoneCall> calls, std::uint32_t longer) const {
    if (calls.size() != last_ - alone_) {
      return false;
    }
    for (std::size_t i = first_; i < alone_; ++i) {
      calls.push_back(shorter_call(i));
    }
    std::sort(calls.begin(), calls.end(),
              [](const LoneCall& a, const LoneCall& b) { return a.order < b.order; });
    std::vector<std::uint64_t> sizes;
    sizes.reserve(calls.size());
    for (const LoneCall& call : calls) {
      sizes.push_back(call.bytes);
    }
    return sizes == sizes_of(traces_, matches_, first_, last_, longer);
  }

  const model::Traces& traces_;
  const Matches& matches_;
  const std::size_t first_;
  const std::size_t last_;
  std::vector<Judgement>& judgements_;
  std::size_t alone_ = 0;  // from which on only the longer side has calls
  std::uint32_t shorter_ = 0;
};

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
  const bool has_mismatch =
      std::any_of(judgements.begin() + static_cast<std::ptrdiff_t>(first),
                  judgements.begin() + static_cast<std::ptrdiff_t>(last), is_size_mismatch);
  const LoneCalls lone_calls =
      has_mismatch ? find_lone_calls(traces, matches, first, last) : LoneCalls();
  for (std::size_t end = first; first < last; first = end) {
    const MatchedOperation& one = operations[first];
    while (end < last && operations[end].way == one.way && operations[end].source == one.source &&
           operations[end].destination == one.destination) {
      ++end;
    }
    if (one.way != Way::kPair || is_to_self(one) ||
        PeerContradiction(traces, matches, first, end, judgements).explain(lone_calls)) {
      continue;
    }
    if (const auto lane = find_lane(matches, first, end, judgements)) {
      explain(traces, matches, *lane, judgements);
    }
  }
}

}  // namespace ringside::match
