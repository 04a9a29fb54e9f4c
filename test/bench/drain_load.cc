// SPDX-License-Identifier: Apache-2.0
#include "test/bench/drain_load.h"

#include <thread>

#include "plugin/record/names.h"

namespace ringside::bench {

using record::EventId;
using record::EventState;
using record::EventType;
using record::RecordKind;
using record::Ring;
using record::Slot;

Load::Load(record::RingPool& pool, const Mix& mix, bool real_time)
    : mix_(mix), real_time_(real_time), source_(record::find_clock_source()) {
  rings_.resize(static_cast<std::size_t>(mix.groups_on != 0 ? mix.groups_on : 1 + kCommunicators));
  std::int32_t tid = 100;
  for (Ring*& ring : rings_) {
    std::thread([&] { ring = pool.current(); }).join();
    ring->state.store(record::RingState::kOwned, std::memory_order_release);
    ring->tid.store(++tid, std::memory_order_relaxed);
  }
}

Slot* Load::append(Ring& ring, EventId id, RecordKind kind, std::uint32_t context,
                   std::uint64_t slots) {
  ++appended_;
  Slot* const slot = ring.reserve(slots);
  if (slot == nullptr) {
    ++dropped_;
    return nullptr;
  }
  now_ns_ += 1'000'000'000 / mix_.per_s / mix_.records();
  auto& first = slot->first;
  first.ticks = real_time_ ? record::read_ticks(source_) : ticks_of(now_ns_);
  first.id = id;
  first.kind = kind;
  first.type = record::event_type(id);
  first.slots = static_cast<std::uint8_t>(slots);
  first.flags = 0;
  first.context = context;
  first.payload = {};
  return slot;
}

void Load::commit(Ring& ring, const Slot* slot) {
  if (slot != nullptr) {
    ring.commit(slot->first.slots);
  }
}

EventId Load::start(Ring& ring, EventType type, std::uint32_t context, EventId parent) {
  const EventId id = ring.take_id(type);
  const bool is_coll = type == EventType::kColl;
  Slot* const slot = append(ring, id, RecordKind::kStart, context, is_coll ? 2 : 1);
  if (slot == nullptr) {
    return id;
  }
  auto& payload = slot->first.payload;
  const std::uint8_t func = record::known_name(record::read_prefix("AllReduce"));
  const std::uint8_t datatype = record::known_name(record::read_prefix("ncclFloat32"));
  const auto channel = static_cast<std::uint8_t>(ring.next_id % 4);
  constexpr std::uint64_t kStream = 0x55d0c0ffee00;
  switch (type) {
    case EventType::kColl: {
      payload.coll = {parent,
                      collectives_ / kCommunicators,
                      1U << 20,
                      0,
                      func,
                      datatype,
                      record::known_name(record::read_prefix("RING")),
                      record::known_name(record::read_prefix("SIMPLE"))};
      record::Extra& extra = ring.slot(ring.position + 1).extra;
      extra = {};
      extra.channels = static_cast<std::uint8_t>(mix_.channels);
      extra.warps = 16;
      break;
    }
    case EventType::kCollApi:
      payload.api = {parent, kStream, 1U << 20, 0, func, datatype, {}};
      break;
    case EventType::kProxyOp:
      payload.proxy_op = {parent, 1, 1, 8, 1 << 19, 0, channel, ring.next_id % 2 == 0, {}};
      break;
    case EventType::kKernelCh:
      // The GPU's clock: ten seconds ahead, and read a little before the callback.
      payload.kernel = {
          parent, static_cast<std::uint64_t>(now_ns_) + 9'999'990'000, channel, 0, {}};
      break;
    default:
      payload.step = {parent, static_cast<std::int32_t>(ring.next_id % 8), 0, {}};
      break;
  }
  commit(ring, slot);
  return id;
}

void Load::state(Ring& ring, EventId id, EventState state, std::uint64_t value) {
  Slot* const slot = append(ring, id, RecordKind::kState, 0, 1);
  if (slot != nullptr) {
    slot->first.payload.state = {value, 0, static_cast<std::uint16_t>(state), 0, {}};
  }
  commit(ring, slot);
}

void Load::stop(Ring& ring, EventId id) {
  commit(ring, append(ring, id, RecordKind::kStop, 0, 1));
}

void Load::execute(EventId coll, std::uint32_t context) {
  Ring& ring = *rings_[context];
  for (int channel = 0; channel < mix_.channels; ++channel) {
    EventId kernel = 0;
    if (mix_.kernels) {
      kernel = start(ring, EventType::kKernelCh, context, coll);
    }
    for (const bool is_send : {true, false}) {
      const EventId proxy = start(ring, EventType::kProxyOp, context, coll);
      state(ring, proxy, EventState::kProxyOpInProgress, 0);
      for (int i = 0; i < mix_.steps; ++i) {
        const EventId step = start(ring, EventType::kProxyStep, context, proxy);
        state(ring, step, is_send ? EventState::kStepSendGpuWait : EventState::kStepRecvWait, 0);
        state(ring, step, is_send ? EventState::kStepSendPeerWait : EventState::kStepRecvFlushWait,
              1 << 19);
        state(ring, step, is_send ? EventState::kStepSendWait : EventState::kStepRecvGpuWait,
              1 << 19);
        stop(ring, step);
      }
      stop(ring, proxy);
    }
    if (mix_.kernels) {
      state(ring, kernel, EventState::kKernelChStop,
            static_cast<std::uint64_t>(now_ns_) + 9'999'995'000);
      stop(ring, kernel);
    }
  }
}

void Load::collective() {
  if (mix_.groups_on != 0) {
    Ring& ring = *rings_[collectives_++ % rings_.size()];
    stop(ring, start(ring, EventType::kGroup, 1, 0));
    return;
  }
  Ring& application = *rings_[0];
  const auto context = static_cast<std::uint32_t>(1 + collectives_ % kCommunicators);
  const EventId group = start(application, EventType::kGroupApi, 0, 0);
  const EventId call = start(application, EventType::kCollApi, context, group);
  stop(application, call);
  const EventId coll = start(application, EventType::kColl, context, call);
  stop(application, coll);
  const EventId launch = start(application, EventType::kKernelLaunch, 0, group);
  stop(application, launch);
  stop(application, group);
  // The network and the GPU are a few operations behind the application.
  EventId& oldest = waiting_[collectives_ % waiting_.size()];
  if (oldest != 0) {
    execute(oldest, context);
  }
  oldest = coll;
  ++collectives_;
}

}  // namespace ringside::bench
