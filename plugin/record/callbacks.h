// SPDX-License-Identifier: Apache-2.0
//
// The callbacks of nearly all events, inline in the adapters: with the event's type known to the
// compiler, everything from NCCL's descriptor to the slot stays in registers, and since nothing is
// called, hardly one of them is saved. This way is open while the clock is a register and nobody
// shows ranges. It takes an event if the thread has its ring and there is room, the context is
// ours, the parent is NULL or ours and not captured, the names were met before, and it takes as
// many slots as its type does. All that is looked at before anything is written; what is not taken,
// is for recorder.cc.
#ifndef RINGSIDE_PLUGIN_RECORD_CALLBACKS_H
#define RINGSIDE_PLUGIN_RECORD_CALLBACKS_H

#include "plugin/record/encode.h"
#include "plugin/record/recorder.h"

namespace ringside::record {

/// A callback of an event that has no record.
[[gnu::always_inline]] inline void count_left_out(Ring& ring, EventId id) noexcept {
  const auto index = static_cast<std::size_t>(event_type(id));
  ProducerCounts::add(ring.counts.produced[index]);
  ProducerCounts::add(not_recorded_reason(id) == NotRecorded::kFiltered
                          ? ring.counts.filtered[index]
                          : ring.counts.dropped_parent[index]);
}

/// Writes the record of a state, or of a stop, which has no payload, where there is room for it.
[[gnu::always_inline]] inline void append_small(Ring& ring, const Ring::Place& place, EventId id,
                                                RecordKind kind, const StatePayload* payload,
                                                std::uint8_t flags, std::uint64_t now) noexcept {
  ProducerCounts::add(ring.counts.produced[static_cast<std::size_t>(event_type(id))]);
  auto& first = place.first->first;
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
  ring.commit(place, 1);
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
      if (!is_left_out(parent)) {
        return false;
      }
      const EventId id = not_recorded_id(event.type, not_recorded_reason(parent));
      count_left_out(ring, id);
      *handle = encode(id, secret);
      return true;
    }
  }
  if (!is_let_through(event.type, event.parent != nullptr)) {
    const EventId filtered = not_recorded_id(event.type, NotRecorded::kFiltered);
    count_left_out(ring, filtered);
    *handle = encode(filtered, secret);
    return true;
  }

  const std::uint64_t context = decode(event.context, secret);
  if (!is_own_context(context) || captures(event)) [[unlikely]] {
    return false;
  }
  // As soon as it is needed: the processor does much of what follows while it waits for the clock.
  const std::uint64_t now = read_ticks(kRegisterClock);
  EncodedNames names;
  if (!encode_names<MetNames>(ring, event, names)) [[unlikely]] {
    return false;
  }
  // How many is known of the type: an API call with a tag, and a network event of a length that no
  // device sends, are not worth the code of both.
  const std::uint64_t slots = is_coll_like(event.type) ? 2 : 1;
  if (slots == 1 && needs_extra(event)) [[unlikely]] {
    return false;
  }
  const Ring::Place place = ring.place();
  if (!ring.has_room(place, slots)) [[unlikely]] {
    return false;
  }
  const bool is_net_ib = payload_flags(event) == kFlagNetIb;
  place.first->first.ticks = now;
  ProducerCounts::add(ring.counts.produced[static_cast<std::size_t>(event.type)]);
  const EventId id = ring.take_id(event.type);
  *handle = encode(id, secret);
  const EventStart again = read_again();
  StartFacts facts{
      id, parent, decode(event_parent_group(again), secret), static_cast<std::uint32_t>(context),
      0,  names};
  // Twice, each with constant flags, so that the slot's head is one store.
  if (is_net_ib) [[likely]] {
    facts.flags = kFlagNetIb;
    encode_start(again, facts, place, slots);
  } else {
    encode_start(again, facts, place, slots);
  }
  ring.commit(place, slots);
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
    if (!is_left_out(id)) {
      return false;
    }
    count_left_out(ring, id);
    return true;
  }
  const std::uint64_t now = read_ticks(kRegisterClock);
  const Ring::Place place = ring.place();
  if (!ring.has_room(place, 1)) [[unlikely]] {
    return false;
  }
  append_small(ring, place, id, kind, payload, flags, now);
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
