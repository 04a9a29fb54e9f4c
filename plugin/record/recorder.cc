// SPDX-License-Identifier: Apache-2.0
//
// The callbacks for all events. Nearly all events take the quick way in callbacks.h instead.
#include "plugin/record/recorder.h"

#include <memory>
#include <sched.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "plugin/record/callbacks.h"

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
  if (secret_ == 0) {
    secret_ = 1;
  }
  rings_.prepare(clock_source_);
  set_range_hooks(nullptr);
  prepared_.store(Prepared::kYes, std::memory_order_release);
}

void Recorder::wipe() noexcept {
  if (!is_wiped()) {
    std::construct_at(this);
  }
}

bool Recorder::is_first_to_prepare() noexcept {
  Prepared now = Prepared::kNo;
  if (prepared_.compare_exchange_strong(now, Prepared::kUnderWay, std::memory_order_acq_rel)) {
    return true;
  }
  while (prepared_.load(std::memory_order_acquire) != Prepared::kYes) {
    sched_yield();
  }
  return false;
}

void Recorder::wipe_on_fork() noexcept {
  const auto page_bytes = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  if (reinterpret_cast<std::uintptr_t>(this) % page_bytes == 0 && sizeof *this % page_bytes == 0) {
    madvise(this, sizeof *this, MADV_WIPEONFORK);
  }
}

void Recorder::set_range_hooks(const RangeHooks* hooks) noexcept {
  range_hooks_.store(hooks, std::memory_order_release);
  const bool is_quick = hooks == nullptr && clock_source_ == kRegisterClock;
  quick_secret_.store(is_quick ? secret_ : 0, std::memory_order_relaxed);
}

void Recorder::count_without_ring(EventType type) noexcept {
  dropped_no_ring_[static_cast<std::size_t>(type)].fetch_add(1, std::memory_order_relaxed);
}

void* Recorder::start(const EventStart& event) noexcept {
  // This check must come before the thread's ring is used: in a forked child that may still be the
  // parent's ring.
  if (is_wiped()) {
    return not_recorded(event.type, NotRecorded::kFiltered);
  }
  const auto index = static_cast<std::size_t>(event.type);
  Ring* const found = rings_.current();
  if (found == nullptr) {
    count_without_ring(event.type);
    return not_recorded(event.type, NotRecorded::kNoRing);
  }
  Ring& ring = *found;
  const IdCheck& ids = rings_.id_check();
  const std::uint64_t parent = decode(event.parent, secret_);
  const std::uint32_t context = context_number(event.context);
  const bool foreign_context = context == 0 && event.context != nullptr;
  const bool own_parent = ids.is_own(parent) && !is_remote(event, foreign_context);
  const bool follows_parent = own_parent && !is_captured(parent);
  const bool is_lost = follows_parent && !is_recorded(parent);
  if (is_lost || !passes_gate(event.type, follows_parent)) {
    const EventId id =
        not_recorded_id(event.type, is_lost ? not_recorded_reason(parent) : NotRecorded::kFiltered);
    count_unrecorded(ring, id);
    return encode(id, secret_);
  }

  const bool foreign = foreign_context || (!own_parent && event.parent != nullptr);
  EncodedNames names;
  encode_names<ResolvedNames>(ring, event, names);
  const std::uint64_t slots = foreign || needs_extra(event) ? 2 : 1;
  ProducerCounts::add(ring.counts.produced[index]);
  if (ring.reserve(slots) == nullptr) {
    ProducerCounts::add(ring.counts.dropped_ring_full[index]);
    return not_recorded(event.type, NotRecorded::kDropped);
  }
  const bool captured = captures(event) || (own_parent && is_captured(parent));
  const EventId id = ring.take_id(event.type) | captured_bit(captures(event));
  const Ring::WriteCursor cursor = ring.write_cursor();
  const auto flags = static_cast<std::uint8_t>(payload_flags(event) | (foreign ? kFlagForeign : 0) |
                                               (captured ? kFlagCaptured : 0));
  const std::uint64_t parent_group = decode(event_parent_group(event), secret_);
  encode_start(event, {id, own_parent ? parent : 0, parent_group, context, flags, names}, cursor,
               slots);
  if (foreign) {
    Extra& extra = cursor.second().extra;
    extra.foreign_context = foreign_context ? reinterpret_cast<std::uint64_t>(event.context) : 0;
    extra.foreign_parent = own_parent ? 0 : reinterpret_cast<std::uint64_t>(event.parent);
  }
  cursor.first->first.ticks = ticks();
  ring.commit(cursor, slots);
  return encode(id, secret_);
}

void Recorder::small(const void* handle, RecordKind kind, const StatePayload* payload,
                     std::uint8_t flags) noexcept {
  if (is_wiped()) {
    return;
  }
  const std::uint64_t id = decode(handle, secret_);
  const bool is_own = rings_.id_check().is_own(id);
  const EventType type = is_own ? event_type(id) : EventType::kUnknown;
  Ring* const ring = rings_.current();
  if (ring == nullptr) {
    count_without_ring(type);
    return;
  }
  const auto index = static_cast<std::size_t>(type);
  if (!is_own) {
    ProducerCounts::add(ring->counts.produced[index]);
    ProducerCounts::add(ring->counts.stale[index]);
  } else if (!is_recorded(id)) {
    count_unrecorded(*ring, id);
  } else if (ring->reserve(1) == nullptr) {
    ProducerCounts::add(ring->counts.produced[index]);
    ProducerCounts::add(ring->counts.dropped_ring_full[index]);
  } else {
    append_small(*ring, ring->write_cursor(), id, kind, payload, flags, ticks());
  }
}

void Recorder::state(void* handle, EventState state, std::uint64_t value, std::int32_t steps,
                     bool args_null) noexcept {
  const StatePayload payload{value, steps, static_cast<std::uint16_t>(state), 0, {}};
  small(handle, RecordKind::kState, &payload, args_null ? kFlagArgsNull : 0);
}

void Recorder::stop(void* handle) noexcept {
  small(handle, RecordKind::kStop, nullptr, 0);
}

void Recorder::begin_range(const void* handle, const EventStart& event) const noexcept {
  const EventId id = decode(handle, secret_);
  const RangeHooks* const hooks = range_hooks_.load(std::memory_order_acquire);
  if (hooks != nullptr && is_recorded(id)) {
    hooks->start(id, event);
  }
}

void Recorder::end_range(const void* handle) const noexcept {
  const EventId id = decode(handle, secret_);
  const RangeHooks* const hooks = range_hooks_.load(std::memory_order_acquire);
  if (hooks != nullptr && rings_.id_check().is_own_recorded(id) && can_have_range(event_type(id))) {
    hooks->stop(id);
  }
}

// NULL: there is none. In the child of a fork nothing is counted.
Ring* Recorder::ring_for_marks(EventType type) noexcept {
  Ring* const ring = is_wiped() ? nullptr : rings_.for_marks();
  if (ring == nullptr && !is_wiped()) {
    count_without_ring(type);
  }
  return ring;
}

bool Recorder::mark(std::string_view text) noexcept {
  Ring* const ring = ring_for_marks(EventType::kMark);
  return ring != nullptr && append_mark(*ring, text.substr(0, kMostText_bytes), ticks());
}

bool Recorder::push(std::string_view text, std::string_view source) noexcept {
  Ring* const ring = ring_for_marks(EventType::kRange);
  return ring != nullptr && open_range(*ring, text.substr(0, kMostText_bytes),
                                       source.substr(0, kMostText_bytes), ticks());
}

void Recorder::pop() noexcept {
  Ring* const ring = !is_wiped() && rings_.has_ring() ? rings_.for_marks() : nullptr;
  if (ring != nullptr) {
    close_range(*ring, ticks());
  }
}

void* Recorder::unknown_event() noexcept {
  constexpr auto kUnknown = static_cast<std::size_t>(EventType::kUnknown);
  if (is_wiped()) {
    return not_recorded(EventType::kGroup, NotRecorded::kFiltered);
  }
  if (Ring* const ring = rings_.current(); ring != nullptr) {
    ProducerCounts::add(ring->counts.produced[kUnknown]);
    ProducerCounts::add(ring->counts.filtered[kUnknown]);
  } else {
    count_without_ring(EventType::kUnknown);
  }
  // The handle needs a type. Its states and its stop are counted under that type, so any type will
  // do.
  return not_recorded(EventType::kGroup, NotRecorded::kFiltered);
}

}  // namespace ringside::record
