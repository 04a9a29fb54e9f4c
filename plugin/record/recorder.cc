// SPDX-License-Identifier: Apache-2.0
#include "plugin/record/recorder.h"

#include <cstring>
#include <sys/random.h>
#include <unistd.h>

#include "plugin/record/encode.h"

namespace ringside::record {

constinit Recorder g_recorder;

void Recorder::prepare() noexcept {
  clock_source_ = find_clock_source();
  pid_ = static_cast<std::int32_t>(getpid());
  std::uint64_t random = 0;
  if (getrandom(&random, sizeof random, GRND_NONBLOCK) != static_cast<ssize_t>(sizeof random)) {
    random = ticks() * 0x9E3779B97F4A7C15U ^ (static_cast<std::uint64_t>(pid_) << 32);
  }
  secret_ = usable_secret(random);
  rings_.prepare();
}

std::uint32_t Recorder::context_number(const void* handle) const noexcept {
  const std::uint64_t id = decode(handle);
  if (!is_context_id(id)) {
    return 0;
  }
  const auto number = static_cast<std::uint32_t>(id);
  return number <= contexts_.load(std::memory_order_relaxed) ? number : 0;
}

void* Recorder::start(const EventStart& event) noexcept {
  const auto index = static_cast<std::size_t>(event.type);
  Ring* const found = rings_.current();
  if (found == nullptr) [[unlikely]] {
    dropped_no_ring_[index].fetch_add(1, std::memory_order_relaxed);
    return not_recorded(event.type, NotRecorded::kNoRing);
  }
  Ring& ring = *found;
  ProducerCounts::add(ring.counts.produced[index]);

  const std::uint64_t parent = decode(event.parent);
  const bool own_parent =
      is_event_id(parent) && !(event.type == EventType::kProxyOp && event.proxy_op.pid != pid_);
  const bool follows_parent = own_parent && !is_captured(parent);
  if (follows_parent && !is_recorded(parent)) {
    const NotRecorded reason = not_recorded_reason(parent);
    ProducerCounts::add(reason == NotRecorded::kFiltered ? ring.counts.filtered[index]
                                                         : ring.counts.dropped_parent[index]);
    return not_recorded(event.type, reason);
  }
  const std::uint32_t allowed = (follows_parent ? types_ : gate_).load(std::memory_order_relaxed);
  if ((allowed & bit(event.type)) == 0) {
    ProducerCounts::add(ring.counts.filtered[index]);
    return not_recorded(event.type, NotRecorded::kFiltered);
  }

  const std::uint32_t context = context_number(event.context);
  const bool foreign_context = context == 0 && event.context != nullptr;
  const bool foreign = foreign_context || (!own_parent && event.parent != nullptr);
  const EncodedNames names = encode_names(ring, event);
  const std::uint64_t slots = foreign || needs_extra(event) ? 2 : 1;
  Slot* const slot = ring.reserve(slots);
  if (slot == nullptr) [[unlikely]] {
    ProducerCounts::add(ring.counts.dropped_ring_full[index]);
    return not_recorded(event.type, NotRecorded::kDropped);
  }
  const bool captured = captures(event) || (own_parent && is_captured(parent));
  const EventId id = make_event_id(event.type, captures(event), ring.index, ring.next_counter);
  ring.next_counter = ring.next_counter == kCounterMask ? 1 : ring.next_counter + 1;

  auto& first = slot->first;
  first.ticks = ticks();
  first.id = id;
  first.kind = RecordKind::kStart;
  first.type = event.type;
  first.slots = static_cast<std::uint8_t>(slots);
  first.flags =
      static_cast<std::uint8_t>((foreign ? kFlagForeign : 0) | (captured ? kFlagCaptured : 0));
  first.context = context;
  encode_payload(event, own_parent ? parent : 0, names, first.payload);
  if (slots == 2) {
    Extra& extra = ring.slot(ring.position + 1).extra;
    encode_extra(event, names, decode(event_parent_group(event)), extra);
    if (foreign) {
      extra.foreign_context = foreign_context ? reinterpret_cast<std::uint64_t>(event.context) : 0;
      extra.foreign_parent = own_parent ? 0 : reinterpret_cast<std::uint64_t>(event.parent);
    }
  }
  ring.commit(slots);
  return encode(id);
}

void* Recorder::unknown_event() noexcept {
  constexpr auto kUnknown = static_cast<std::size_t>(EventType::kUnknown);
  if (Ring* const ring = rings_.current(); ring != nullptr) {
    ProducerCounts::add(ring->counts.produced[kUnknown]);
    ProducerCounts::add(ring->counts.filtered[kUnknown]);
  } else {
    dropped_no_ring_[kUnknown].fetch_add(1, std::memory_order_relaxed);
  }
  // The states and stop that follow are filed under a type's bits; any will do.
  return not_recorded(EventType::kGroup, NotRecorded::kFiltered);
}

bool Recorder::admit(Ring& ring, std::uint64_t id) noexcept {
  if (!is_event_id(id)) [[unlikely]] {
    constexpr auto kUnknown = static_cast<std::size_t>(EventType::kUnknown);
    ProducerCounts::add(ring.counts.produced[kUnknown]);
    ProducerCounts::add(ring.counts.stale[kUnknown]);
    return false;
  }
  const auto index = static_cast<std::size_t>(event_type(id));
  ProducerCounts::add(ring.counts.produced[index]);
  if (is_recorded(id)) [[likely]] {
    return true;
  }
  ProducerCounts::add(not_recorded_reason(id) == NotRecorded::kFiltered
                          ? ring.counts.filtered[index]
                          : ring.counts.dropped_parent[index]);
  return false;
}

void Recorder::append_small(Ring& ring, EventId id, RecordKind kind, const StatePayload* payload,
                            std::uint8_t flags) noexcept {
  Slot* const slot = ring.reserve(1);
  if (slot == nullptr) [[unlikely]] {
    ProducerCounts::add(ring.counts.dropped_ring_full[static_cast<std::size_t>(event_type(id))]);
    return;
  }
  auto& first = slot->first;
  first.ticks = ticks();
  first.id = id;
  first.kind = kind;
  first.type = event_type(id);
  first.slots = 1;
  first.flags = flags;
  first.context = 0;
  if (payload != nullptr) {
    first.payload.state = *payload;
  }
  ring.commit(1);
}

void Recorder::state(void* handle, EventState state, std::uint64_t value, std::int32_t steps,
                     bool args_null) noexcept {
  const std::uint64_t id = decode(handle);
  Ring* const ring = rings_.current();
  if (ring == nullptr) [[unlikely]] {
    const EventType type = is_event_id(id) ? event_type(id) : EventType::kUnknown;
    dropped_no_ring_[static_cast<std::size_t>(type)].fetch_add(1, std::memory_order_relaxed);
    return;
  }
  if (admit(*ring, id)) {
    const StatePayload payload{value, steps, static_cast<std::uint16_t>(state), 0, {}};
    append_small(*ring, id, RecordKind::kState, &payload, args_null ? kFlagArgsNull : 0);
  }
}

void Recorder::stop(void* handle) noexcept {
  const std::uint64_t id = decode(handle);
  Ring* const ring = rings_.current();
  if (ring == nullptr) [[unlikely]] {
    const EventType type = is_event_id(id) ? event_type(id) : EventType::kUnknown;
    dropped_no_ring_[static_cast<std::size_t>(type)].fetch_add(1, std::memory_order_relaxed);
    return;
  }
  if (admit(*ring, id)) {
    append_small(*ring, id, RecordKind::kStop, nullptr, 0);
  }
}

}  // namespace ringside::record
