// SPDX-License-Identifier: Apache-2.0
//
// Sampling: which operations are left out, and with them what belongs to them. They are assembled
// all the same: what is in flight is always seen, and so is what hangs.
#include <limits>

#include "plugin/assemble/assembler.h"
#include "plugin/record/encode.h"

namespace ringside::assemble {
namespace {

constexpr std::int64_t kForEver = std::numeric_limits<std::int64_t>::max();

// Up to this version NCCL counts operations only while they are recorded.
constexpr int kLastWithOwnCount = 3;

}  // namespace

void Assembler::begin_sampling(Communicator& of) {
  of.coll_unsampled = sampling_.coll_of > 1 && of.abi_version <= kLastWithOwnCount;
  of.p2p_unsampled = sampling_.p2p_of > 1 && !expect_p2p_;
  if (sampling_.p2p_of > 1 && expect_p2p_) {
    places_[of.context] = {kForEver, {}};
  }
}

void Assembler::lose_places(std::int64_t ts_ns) {
  expect_p2p_ = false;
  for (auto& [context, places] : places_) {
    if (places.until_ns == kForEver) {
      places.until_ns = ts_ns;
      communicators_[context].p2p_unsampled = true;
      sink_.communicator(communicators_[context]);
    }
  }
}

std::optional<std::uint64_t> Assembler::place_in_lane(const RecordView& view,
                                                      const Operation& operation) {
  const auto places = places_.find(view.context);
  if (places == places_.end() || view.ts_ns >= places->second.until_ns) {
    return std::nullopt;
  }
  return places->second.next[{operation.root_or_peer, operation.func == "Recv"}]++;
}

bool Assembler::chooses(const RecordView& view, Operation& operation) {
  bool is_kept = keeps_time(sampling_, base_ns_ + operation.enqueue_start_ns) &&
                 (!operation.has_bytes || operation.bytes >= sampling_.min_bytes);
  if (operation.kind != OperationKind::kP2p) {
    if (sampling_.coll_of > 1 && !communicator(view.context).coll_unsampled) {
      operation.sample_of = sampling_.coll_of;
      is_kept = is_kept && keeps_number(operation.func, operation.seq, sampling_.coll_of);
    }
    return is_kept;
  }
  if (const auto place = place_in_lane(view, operation)) {
    operation.has_seq = true;
    operation.seq = *place;
    operation.sample_of = sampling_.p2p_of;
    is_kept = is_kept && keeps_number(kSampledPair, *place, sampling_.p2p_of);
  }
  return is_kept;
}

// Calls go with their operation, groups with the last of theirs that is kept.
void Assembler::tell_calls(Event* group, Event* call, bool is_first_of_call, bool is_kept) {
  const auto count = [&](Event* of) {
    if (of != nullptr && std::holds_alternative<CallEvent>(of->data)) {
      auto& counted = std::get<CallEvent>(of->data);
      ++(is_kept ? counted.kept : counted.left_out);
    }
  };
  count(group);
  if (call == nullptr) {
    return;
  }
  auto& called = std::get<CallEvent>(call->data);
  if (Event* const around = events_.find(called.parent); around != group) {
    count(around);
  }
  call->sampled_out = !is_kept && (is_first_of_call || call->sampled_out);
  if (called.is_held) {
    let_go(*call);
  }
}

// NCCL enqueues after the call, and launches before it enqueues: what is chosen is not known yet.
bool Assembler::holds_back(record::EventId id, const CallEvent& called) {
  if (record::is_call(called.call.type)) {
    return !called.has_child && !called.call.captured;
  }
  Event* const group = events_.find(called.parent);
  if (called.call.type != record::EventType::kKernelLaunch || group == nullptr ||
      !std::holds_alternative<CallEvent>(group->data)) {
    return false;
  }
  std::get<CallEvent>(group->data).launches.push_back(id);
  return true;
}

void Assembler::let_go(Event& event) {
  auto& called = std::get<CallEvent>(event.data);
  called.is_held = false;
  write_call(event);
}

void Assembler::write_call(const Event& event) {
  const auto& called = std::get<CallEvent>(event.data);
  const auto has_none_kept = [](const CallEvent& of) { return of.left_out > 0 && of.kept == 0; };
  bool is_left_out = event.sampled_out || has_none_kept(called);
  if (event.type == record::EventType::kKernelLaunch) {
    const Event* const group = events_.find(called.parent);
    const auto* const around = group != nullptr ? std::get_if<CallEvent>(&group->data) : nullptr;
    is_left_out = around != nullptr && has_none_kept(*around);
  }
  // The callbacks of an enqueue are accounted for with the operation's line.
  const Tally tally = record::is_coll_like(event.type) ? Tally{} : event.tally();
  if (!is_left_out) {
    sink_.row(&called.call, tally);
  } else if (!record::is_coll_like(event.type)) {
    sample_out(&called.call, tally);
  }
  // An enqueue that is left out is not noted as done with. If the process dies before the operation
  // is left out as well, recovery writes the operation, and with it this end of its arrow.
}

void Assembler::sample_out(const Row& row, const Tally& tally) {
  counts_.sampled_out[static_cast<std::size_t>(tally.type)] += tally.starts + tally.joined;
  sink_.sampled_out(row);
}

}  // namespace ringside::assemble
