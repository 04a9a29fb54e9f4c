// SPDX-License-Identifier: Apache-2.0
//
// The quick way through the callbacks, inline in the adapters, for nearly all events. The compiler
// knows the event's type, so everything from NCCL's descriptor to the slot stays in registers.
// Nothing is called, so hardly a register is saved. The quick way is open while the clock is a
// register and no tool shows ranges. It records an event if the thread has its ring and there is
// room in it, the context is ours, the parent is NULL or ours and not captured, the names are in
// the thread's cache, and the event needs no more slots than others of its type. All this is
// checked before anything is written. Other events go to recorder.cc.
#ifndef RINGSIDE_PLUGIN_RECORD_CALLBACKS_H
#define RINGSIDE_PLUGIN_RECORD_CALLBACKS_H

#include "plugin/record/encode.h"
#include "plugin/record/recorder.h"

namespace ringside::record {

[[gnu::always_inline]] inline void count_unrecorded(Ring& ring, EventId id) noexcept {
  const auto index = static_cast<std::size_t>(event_type(id));
  ProducerCounts::add(ring.counts.produced[index]);
  ProducerCounts::add(not_recorded_reason(id) == NotRecorded::kFiltered
                          ? ring.counts.filtered[index]
                          : ring.counts.dropped_parent[index]);
}

/// Writes the record of a state, or of a stop, whose `payload` is NULL. The caller has made sure
/// that there is room.
[[gnu::always_inline]] inline void append_small(Ring& ring, const Ring::WriteCursor& cursor,
                                                EventId id, RecordKind kind,
                                                const StatePayload* payload, std::uint8_t flags,
                                                std::uint64_t now) noexcept {
  ProducerCounts::add(ring.counts.produced[static_cast<std::size_t>(event_type(id))]);
  auto& first = cursor.first->first;
  first.ticks = now;
  first.id = id;
  first.kind = kind;
  first.type = event_type(id);
  first.slots = 1;
  first.flags = flags;
  first.context = 0;
  if (payload != nullptr) {
    first.payload.state.value = payload->value;
    first.payload.state.steps = payload->steps;
    first.payload.state.state = payload->state;
  }
  ring.commit(cursor, 1);
}

template <typename ReadAgain>
[[gnu::always_inline]] inline bool Recorder::quick_start(const EventStart& event,
                                                         const ReadAgain& read_again,
                                                         void** handle) noexcept {
  const std::uint64_t secret = quick_secret_.load(std::memory_order_relaxed);
  Ring* const known = RingPool::known();
  if (secret == 0 || known == nullptr) [[unlikely]] {
    return false;
  }
  Ring& ring = *known;
  std::uint64_t parent = 0;
  if (event.parent != nullptr) {
    parent = decode(event.parent, secret);
    if (is_remote(event)) [[unlikely]] {
      return false;
    }
    if (!rings_.id_check().is_own_plain(parent)) [[unlikely]] {
      if (!is_unrecorded(parent)) {
        return false;
      }
      const EventId id = not_recorded_id(event.type, not_recorded_reason(parent));
      count_unrecorded(ring, id);
      *handle = encode(id, secret);
      return true;
    }
  }
  if (!passes_gate(event.type, event.parent != nullptr)) {
    const EventId filtered = not_recorded_id(event.type, NotRecorded::kFiltered);
    count_unrecorded(ring, filtered);
    *handle = encode(filtered, secret);
    return true;
  }

  const std::uint64_t context = decode(event.context, secret);
  if (!is_own_context(context) || captures(event)) [[unlikely]] {
    return false;
  }
  // The clock is read as early as possible: the processor does much of what follows while it waits
  // for the reading.
  const std::uint64_t now = read_ticks(kRegisterClock);
  EncodedNames names;
  if (!encode_names<CachedNames>(ring, event, names)) [[unlikely]] {
    return false;
  }
  // The type alone decides how many slots a record takes here. An API call with a tag and a network
  // event of a length that no device sends would need two. They are too rare to be worth the code.
  const std::uint64_t slots = is_coll_like(event.type) ? 2 : 1;
  if (slots == 1 && needs_extra(event)) [[unlikely]] {
    return false;
  }
  const Ring::WriteCursor cursor = ring.write_cursor();
  if (!ring.has_room(cursor, slots)) [[unlikely]] {
    return false;
  }
  const bool is_net_ib = payload_flags(event) == kFlagNetIb;
  cursor.first->first.ticks = now;
  ProducerCounts::add(ring.counts.produced[static_cast<std::size_t>(event.type)]);
  const EventId id = ring.take_id(event.type);
  *handle = encode(id, secret);
  const EventStart again = read_again();
  StartFacts facts{
      id, parent, decode(event_parent_group(again), secret), static_cast<std::uint32_t>(context),
      0,  names};
  // The two calls have constant flags each, so that the slot's head is written with one store.
  if (is_net_ib) [[likely]] {
    facts.flags = kFlagNetIb;
    encode_start(again, facts, cursor, slots);
  } else {
    encode_start(again, facts, cursor, slots);
  }
  ring.commit(cursor, slots);
  return true;
}

inline bool Recorder::quick_start(const EventStart& event, void** handle) noexcept {
  return quick_start(
      event, [&event]() noexcept { return event; }, handle);
}

[[gnu::always_inline]] inline bool Recorder::quick_small(const void* handle, RecordKind kind,
                                                         const StatePayload* payload,
                                                         std::uint8_t flags) noexcept {
  const std::uint64_t secret = quick_secret_.load(std::memory_order_relaxed);
  Ring* const known = RingPool::known();
  if (secret == 0 || known == nullptr) [[unlikely]] {
    return false;
  }
  Ring& ring = *known;
  const std::uint64_t id = decode(handle, secret);
  if (!rings_.id_check().is_own_recorded(id)) [[unlikely]] {
    if (!is_unrecorded(id)) {
      return false;
    }
    count_unrecorded(ring, id);
    return true;
  }
  const std::uint64_t now = read_ticks(kRegisterClock);
  const Ring::WriteCursor cursor = ring.write_cursor();
  if (!ring.has_room(cursor, 1)) [[unlikely]] {
    return false;
  }
  append_small(ring, cursor, id, kind, payload, flags, now);
  return true;
}

[[gnu::always_inline]] inline bool Recorder::quick_state(void* handle, EventState state,
                                                         std::uint64_t value, std::int32_t steps,
                                                         bool args_null) noexcept {
  const StatePayload payload{value, steps, static_cast<std::uint16_t>(state), 0, {}};
  return quick_small(handle, RecordKind::kState, &payload, args_null ? kFlagArgsNull : 0);
}

[[gnu::always_inline]] inline bool Recorder::quick_stop(void* handle) noexcept {
  return quick_small(handle, RecordKind::kStop, nullptr, 0);
}

}  // namespace ringside::record

#endif  // RINGSIDE_PLUGIN_RECORD_CALLBACKS_H
