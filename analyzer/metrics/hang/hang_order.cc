// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/hang/hang_order.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "analyzer/match/verdict/cut_off.h"
#include "analyzer/match/verdict/overtaken.h"

namespace ringside::metrics {
namespace {

// The parts of operations at which ranks are: their fronts, of sources that tell calls only.
class FrontParts {
 public:
  FrontParts(const model::Traces& traces, const std::vector<Position>& positions)
      : traces_(traces), positions_(positions) {
    for (std::uint32_t p = 0; p < positions.size(); ++p) {
      if (positions[p].member == 0) {
        first_of_.push_back(p);
      }
      if (traces.files[positions[p].file].process.tells_begin) {
        continue;
      }
      for (const Front& front : positions[p].fronts) {
        parts_.emplace(positions[p].file, front.operation);
      }
    }
  }

  bool empty() const { return parts_.empty(); }
  bool has(const match::Part& part) const { return parts_.contains({part.file, part.operation}); }
  // The index of the part's position.
  std::uint32_t position_of(const match::MatchedOperation& matched, const match::Part& part) const {
    return first_of_[matched.communicator] + part.member;
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
  std::vector<std::uint32_t> first_of_;                      // position, by communicator
  std::set<std::pair<std::uint32_t, std::uint32_t>> parts_;  // file and operation
};

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
        verdict == match::Verdict::kFunctionMismatch || verdict == match::Verdict::kMissing;
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

InFlight find_in_flight(const model::Traces& traces, const match::Matches& matches,
                        const std::vector<Position>& positions) {
  InFlight found;
  const FrontParts fronts(traces, positions);
  for (std::size_t i = 0; !fronts.empty() && i < matches.operations.size(); ++i) {
    const match::MatchedOperation& matched = matches.operations[i];
    for (const match::Part& part : match::parts_of(matches, matched)) {
      const std::uint32_t position = fronts.position_of(matched, part);
      if (matched.way == match::Way::kPair &&
          match::peer_of_own_communicator(traces.files[part.file].process,
                                          match::operation_of(traces, part))) {
        continue;
      }
      if (fronts.has(part)) {
        found.at[position].push_back(i);
      } else if (fronts.is_behind(matched, part)) {
        found.behind[i].push_back(position);
      }
    }
  }
  return found;
}

std::vector<bool> find_rings(const match::Matches& matches, const InFlight& in_flight) {
  std::map<std::size_t, std::size_t> waits;                   // for how many it waits
  std::map<std::size_t, std::vector<std::size_t>> waits_for;  // by what they wait for
  for (const auto& [i, positions_behind] : in_flight.behind) {
    for (const std::uint32_t position : positions_behind) {
      const auto fronts = in_flight.at.find(position);
      if (fronts == in_flight.at.end()) {
        continue;
      }
      for (const std::size_t front : fronts->second) {
        // Sends and receives that follow each other may have been made in one batch.
        if (matches.operations[i].way == match::Way::kPair &&
            matches.operations[front].way == match::Way::kPair) {
          continue;
        }
        waits_for[front].push_back(i);
        ++waits[i];
      }
    }
  }
  // Operations that wait for nothing are taken away, again and again: the rest waits for itself.
  std::vector<std::size_t> free;
  for (const auto& [i, of_them] : waits_for) {
    if (!waits.contains(i)) {
      free.push_back(i);
    }
  }
  while (!free.empty()) {
    const std::size_t one = free.back();
    free.pop_back();
    for (const std::size_t i : waits_for[one]) {
      if (--waits[i] == 0) {
        free.push_back(i);
      }
    }
  }
  std::vector<bool> is_in_ring(matches.operations.size());
  for (const auto& [i, count] : waits) {
    is_in_ring[i] = count > 0;
  }
  return is_in_ring;
}

std::optional<OppositeOrder> find_opposite_order(const model::Traces& traces,
                                                 const match::Matches& matches,
                                                 const std::vector<Position>& positions,
                                                 const InFlight& in_flight) {
  using Call = std::pair<std::pair<std::int64_t, std::uint64_t>, std::size_t>;
  std::map<std::uint32_t, std::vector<Call>> of_file;
  for (const auto& [position, operations] : in_flight.at) {
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

}  // namespace ringside::metrics
