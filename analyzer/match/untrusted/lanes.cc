// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/untrusted/lanes.h"

#include <algorithm>
#include <string_view>
#include <tuple>

#include "analyzer/match/calls/digest.h"

namespace ringside::match {
namespace {

constexpr std::int64_t kGreatestPosition = std::int64_t{1} << 59;

bool is_synchronising(std::string_view func) {
  return func == "AllReduce" || func == "AllGather" || func == "ReduceScatter" ||
         func == "AlltoAll";
}

// Returns how far the start and end of an execution may be from the truth, in ns. GPU stamps were
// converted by a fit; other times are those of callbacks.
std::int64_t slack_ns(const model::Operation& operation) {
  const bool is_gpu = operation.times_from == model::TimesFrom::kGpu && !operation.gpu_polled;
  return is_gpu || operation.times_from == model::TimesFrom::kKineto ? 20'000 : 1'000'000;
}

// Times come from files, so a sum that would overflow is not made.
std::int64_t add(std::int64_t time_ns, std::int64_t more_ns) {
  std::int64_t sum_ns = 0;
  return __builtin_add_overflow(time_ns, more_ns, &sum_ns) ? time_ns : sum_ns;
}

bool is_end_certain(const model::Operation& operation) {
  return !operation.in_flight && operation.state == model::State::kCompleted;
}

}  // namespace

Call LaneMaker::make_call(const Stream& stream, std::uint32_t index) const {
  const Entry& entry = entries_[index];
  const model::Operation& operation = operation_of_entry(entry);
  const std::uint32_t file = communicator_.members[entry.member].file;
  Call call;
  call.operation = index;
  call.enqueued_ns = clock_.to_common_ns(file, time_of(operation));
  std::uint64_t signature = mix(0, entry.func);
  signature = mix(signature, operation.bytes.value_or(~0ULL));
  signature = mix(signature, operation.root.value_or(~0U));
  // The ends of a pair may name different datatypes of the same size.
  const bool is_pair = entry.way == Way::kPair;
  signature = mix(signature, signs_datatype_ && !is_pair ? operation.datatype : 0);
  if (stream.doubt == Doubt::kRepeats && signs_key_) {
    signature = mix(signature, entry.key);
  }
  call.signature = signature;
  const bool is_timed = model::tells_execution(operation.times_from);
  if (is_timed && (is_pair || is_synchronising(traces_.names.text(operation.func)))) {
    // A receive does not end before its send has begun. The other way round this need not be.
    if (operation.start_ns && !entry.receives) {
      call.start_ns = add(clock_.to_common_ns(file, *operation.start_ns), -slack_ns(operation));
    }
    if (operation.end_ns && is_end_certain(operation) && (!is_pair || entry.receives)) {
      call.end_ns = add(clock_.to_common_ns(file, *operation.end_ns), slack_ns(operation));
    }
  }
  return call;
}

Lane LaneMaker::make(const Stream& stream, std::span<const std::uint32_t> indices) const {
  Lane lane;
  lane.member = entries_[indices.front()].member;
  const auto window_of = [&](const Call& call) {
    return operation_of_entry(entries_[call.operation]).window;
  };
  for (const std::uint32_t i : indices) {
    lane.calls.push_back(make_call(stream, i));
  }
  std::sort(lane.calls.begin(), lane.calls.end(), [&](const Call& a, const Call& b) {
    const auto order = [&](const Call& call) {
      const Entry& entry = entries_[call.operation];
      const model::Operation& operation = operation_of_entry(entry);
      // Replays are enqueued by a thread of their own, but execute in order with all other
      // operations.
      const std::int64_t time_ns = stream.doubt == Doubt::kRepeats
                                       ? operation.start_ns.value_or(time_of(operation))
                                       : time_of(operation);
      return std::tuple(window_of(call), stream.has_positions ? entry.key : 0, time_ns,
                        operation.id, entry.operation);
    };
    return order(a) < order(b);
  });
  const Member& member = communicator_.members[lane.member];
  // A rank that began late chooses other sends and receives than its peer: it counts from its own
  // first call.
  const bool is_chosen_by_count =
      stream.doubt == Doubt::kPairs && traces_.files[member.file].process.sampling.p2p_of > 1;
  lane.is_exact = stream.has_positions || (member.is_lossless && !is_chosen_by_count);
  for (std::size_t i = 0; i < lane.calls.size(); ++i) {
    const std::uint64_t key = entries_[lane.calls[i].operation].key;
    const bool is_absurd = key >= static_cast<std::uint64_t>(kGreatestPosition);
    lane.calls[i].position = !stream.has_positions ? static_cast<std::int64_t>(i)
                             : is_absurd           ? kGreatestPosition
                                                   : static_cast<std::int64_t>(key);
    const bool ascends = i == 0 || lane.calls[i - 1].position < lane.calls[i].position;
    lane.is_exact = lane.is_exact && ascends && (!stream.has_positions || !is_absurd);
  }
  cut_into_pieces(lane);
  return lane;
}

void LaneMaker::cut_into_pieces(Lane& lane) const {
  const Member& member = communicator_.members[lane.member];
  const auto window_of = [&](const Call& call) {
    return operation_of_entry(entries_[call.operation]).window;
  };
  const auto& windows = traces_.files[member.file].windows;
  for (std::size_t first = 0; first < lane.calls.size();) {
    std::size_t last = first;
    const std::uint64_t window = window_of(lane.calls[first]);
    while (last < lane.calls.size() && window_of(lane.calls[last]) == window) {
      ++last;
    }
    Piece piece;
    piece.calls = std::span(lane.calls).subspan(first, last - first);
    piece.is_exact = lane.is_exact;
    piece.at_start = lane.is_exact && member.is_from_start && window == windows.begin()->first;
    piece.at_end = lane.is_exact && member.is_lossless && member.is_to_end &&
                   window == windows.rbegin()->first;
    lane.pieces.push_back(piece);
    first = last;
  }
}

}  // namespace ringside::match
