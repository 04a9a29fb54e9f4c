// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/hang/hang_order.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "analyzer/match/verdict/cut_off.h"
#include "analyzer/match/verdict/overtaken.h"
#include "analyzer/metrics/hang/wait_graph.h"

namespace ringside::metrics {
namespace {

// The parts of operations at which ranks are: their fronts, of sources that show calls only.
class FrontParts {
 public:
  FrontParts(const model::Traces& traces, const std::vector<Position>& positions)
      : traces_(traces), positions_(positions), index_(positions) {}

  bool empty() const {
    return std::all_of(positions_.begin(), positions_.end(), [&](const Position& position) {
      return position.fronts.empty() || traces_.files[position.file].process.tells_begin;
    });
  }
  bool has(const match::Part& part) const {
    return !traces_.files[part.file].process.tells_begin && index_.front_at(part) != nullptr;
  }
  std::uint32_t position_of(const match::MatchedOperation& matched, const match::Part& part) const {
    return index_.position_of(matched.communicator, part.member);
  }
  // True if the part is in flight behind a front.
  bool is_behind(const match::MatchedOperation& matched, const match::Part& part) const {
    const model::TraceFile& file = traces_.files[part.file];
    if (file.process.tells_begin || positions_[position_of(matched, part)].fronts.empty()) {
      return false;
    }
    const model::Operation operation = file.operations[part.operation];
    return operation.in_flight && operation.state != model::State::kCompleted && !has(part);
  }

 private:
  const model::Traces& traces_;
  const std::vector<Position>& positions_;
  const PositionIndex index_;
};

// `at`: the operations that each position is at.
std::optional<OppositeOrder> find_opposite_order(
    const model::Traces& traces, const match::Matches& matches,
    const std::vector<Position>& positions,
    const std::map<std::uint32_t, std::vector<std::uint32_t>>& at) {
  using Call = std::pair<std::pair<std::int64_t, std::uint64_t>, std::size_t>;
  std::map<std::uint32_t, std::vector<Call>> of_file;
  for (const auto& [position, operations] : at) {
    const Position& of = positions[position];
    const Front& front = of.fronts.front();
    of_file[of.file].emplace_back(call_order(traces.files[of.file].operations[front.operation]),
                                  operations.front());
  }
  constexpr std::size_t kCompared = 16;  // later calls, so that many groups take no long time
  std::map<std::pair<std::size_t, std::size_t>, OppositeOrder> found;
  for (auto& [file, calls] : of_file) {
    std::sort(calls.begin(), calls.end());
    for (std::size_t i = 0; i < calls.size(); ++i) {
      for (std::size_t k = i + 1; k < std::min(calls.size(), i + 1 + kCompared); ++k) {
        const auto [one, other] = std::minmax(calls[i].second, calls[k].second);
        OppositeOrder& order = found[{one, other}];
        order.one = one;
        order.other = other;
        (calls[i].second == one ? order.one_first : order.other_first).push_back(file);
      }
    }
  }
  for (auto& [pair, order] : found) {
    if (!order.one_first.empty() && !order.other_first.empty() &&
        matches.operations[order.one].communicator !=
            matches.operations[order.other].communicator) {
      return std::move(order);
    }
  }
  return std::nullopt;
}

}  // namespace

bool lacks_a_rank(const match::Matches& matches, const std::vector<match::Judgement>& judgements,
                  std::size_t index) {
  const match::MatchedOperation& matched = matches.operations[index];
  const std::uint32_t seen = match::ranks_seen(matches, matched);
  const std::uint32_t expected = match::ranks_expected(matches, matched);
  return (seen < expected && seen + match::overwritten_parts(matches, matched) < expected) ||
         match::disagrees(judgements[index]);
}

void add_hopeless_calls(const model::Traces& traces, const match::Matches& matches,
                        const std::vector<match::Judgement>& judgements,
                        std::vector<Position>& positions) {
  const FrontParts fronts(traces, positions);
  if (fronts.empty()) {
    return;
  }
  std::vector<bool> is_held(positions.size());  // by a front that lacks a rank
  std::map<std::uint32_t, std::pair<std::pair<std::int64_t, std::uint64_t>, std::uint32_t>> first;
  for (std::size_t i = 0; i < matches.operations.size(); ++i) {
    const match::MatchedOperation& matched = matches.operations[i];
    const match::Verdict verdict = judgements[i].verdict;
    const bool is_hopeless =
        verdict == match::Verdict::kMissing ||
        (verdict != match::Verdict::kUndecided && match::disagrees(judgements[i]));
    if (!is_hopeless && !lacks_a_rank(matches, judgements, i)) {
      continue;
    }
    for (const match::Part& part : match::parts_of(matches, matched)) {
      const std::uint32_t position = fronts.position_of(matched, part);
      if (fronts.has(part)) {
        is_held[position] = true;
      } else if (is_hopeless && fronts.is_behind(matched, part)) {
        const std::pair call(call_order(match::operation_of(traces, part)), part.operation);
        const auto [known, is_new] = first.try_emplace(position, call);
        known->second = std::min(known->second, call);
      }
    }
  }
  for (const auto& [position, call] : first) {
    if (!is_held[position]) {
      Front front;
      front.operation = call.second;
      front.stage = Stage::kCalled;
      front.since_ns = call.first.first;
      positions[position].fronts.push_back(front);
    }
  }
}

CallOrder find_call_order(const model::Traces& traces, const match::Matches& matches,
                          const std::vector<Position>& positions) {
  std::map<std::uint32_t, std::vector<std::uint32_t>> at;  // by position: the operations it is at
  std::vector<std::pair<std::uint32_t, std::uint32_t>> behind;  // an operation, and a position
  const FrontParts fronts(traces, positions);
  const bool is_empty = fronts.empty();
  for (std::uint32_t i = 0; !is_empty && i < matches.operations.size(); ++i) {
    const match::MatchedOperation& matched = matches.operations[i];
    for (const match::Part& part : match::parts_of(matches, matched)) {
      const std::uint32_t position = fronts.position_of(matched, part);
      if (matched.way == match::Way::kPair &&
          match::peer_of_own_communicator(traces.files[part.file].process,
                                          match::operation_of(traces, part))) {
        continue;
      }
      if (fronts.has(part)) {
        at[position].push_back(i);
      } else if (fronts.is_behind(matched, part)) {
        behind.emplace_back(i, position);
      }
    }
  }
  CallOrder order;
  if (!behind.empty()) {
    WaitGraph next(matches.operations.size());
    for (const auto& [i, position] : behind) {
      const auto known = at.find(position);
      if (known == at.end()) {
        continue;  // the call that it is at could not be aligned
      }
      for (const std::uint32_t front : known->second) {
        // Sends and receives that follow each other may have been made in one batch.
        if (matches.operations[i].way != match::Way::kPair ||
            matches.operations[front].way != match::Way::kPair) {
          next[i].push_back(front);
        }
      }
    }
    order.is_in_ring = lead_to_ring(next);
  }
  order.opposite = find_opposite_order(traces, matches, positions, at);
  return order;
}

}  // namespace ringside::metrics
