// SPDX-License-Identifier: Apache-2.0
//
// Sampling: which operations are left out, and with them what belongs to them. They are assembled
// all the same: what is in flight is always seen, and so is what hangs.
#include "plugin/assemble/assembler.h"
#include "plugin/record/encode.h"

namespace ringside::assemble {
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
