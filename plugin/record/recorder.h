// SPDX-License-Identifier: Apache-2.0
//
// The hot path: what NCCL's callbacks do, on whatever thread NCCL calls them. One timestamp, one
// append to the calling thread's ring. No allocation, lock, system call, formatting or wait, except
// that a thread's first event gets it a ring.
//
// Which events are recorded: an event whose parent is recorded, is recorded too (if its type is
// asked for), also after recording was stopped, so that what began in a window is seen to its end.
// An event without a parent of ours, and one whose parent was captured in a CUDA graph (a replay:
// it begins now), is recorded while recording is on.
#ifndef RINGSIDE_PLUGIN_RECORD_RECORDER_H
#define RINGSIDE_PLUGIN_RECORD_RECORDER_H

#include <array>
#include <atomic>
#include <cstdint>

#include "plugin/record/clock.h"
#include "plugin/record/encode.h"
#include "plugin/record/event_start.h"
#include "plugin/record/handle.h"
#include "plugin/record/range_hook.h"
#include "plugin/record/ring_pool.h"

namespace ringside::record {

/// In pages of its own, and all zeros before prepare(), so that it can be wiped (wipe_on_fork).
class alignas(4096) Recorder {
 public:
  /// Once, before the first event: finds the clock, takes the process's secret.
  void prepare() noexcept;

  /// Of a recorder that lives as long as the process: the kernel hands it to children as zeros.
  /// They record nothing then, however they were made: handlers of pthread_atfork do not run for
  /// _Fork() and clone(). Where the kernel cannot (older than 4.14, pages of more than 4 KiB) those
  /// handlers are all there is.
  void wipe_on_fork() noexcept;

  /// It is not prepared, or this is a child. Any thread.
  bool is_wiped() const noexcept { return secret_ == 0; }

  // The three callbacks. Any thread. start always returns a value that is not NULL.
  void* start(const EventStart& event) noexcept;
  void state(void* handle, EventState state, std::uint64_t value, std::int32_t steps,
             bool args_null) noexcept;
  void stop(void* handle) noexcept;

  /// Handle for an event of a type that is not known; counted, never recorded.
  void* unknown_event() noexcept;

  /// What begins from now on is recorded if its type is in `types` (bits of EventType). 0: nothing.
  void set_gate(std::uint32_t types) noexcept {
    const std::uint64_t last = types != 0 ? types : masks_.load(std::memory_order_relaxed) >> 32;
    masks_.store(last << 32 | types, std::memory_order_relaxed);
  }
  std::uint32_t gate() const noexcept {
    return static_cast<std::uint32_t>(masks_.load(std::memory_order_relaxed));
  }

  /// A new context: its number, from 1, and what NCCL is given for it.
  std::uint32_t new_context() noexcept {
    return contexts_.fetch_add(1, std::memory_order_acq_rel) + 1;
  }
  void* context_handle(std::uint32_t context) const noexcept {
    return reinterpret_cast<void*>(((kContextTag << kTagShift) | context) ^ secret_);
  }
  /// Number of a context of ours; 0 for NULL and for anything else.
  std::uint32_t context_number(const void* handle) const noexcept;

  RingPool& rings() noexcept { return rings_; }
  ClockSource clock_source() const noexcept { return clock_source_; }
  std::uint64_t ticks() const noexcept { return read_ticks(clock_source_); }

  /// Callbacks of threads that could have no ring, by type: produced and lost at once.
  std::uint64_t dropped_no_ring(EventType type) const noexcept {
    return dropped_no_ring_[static_cast<std::size_t>(type)].load(std::memory_order_relaxed);
  }

  /// Who shows events as ranges; NULL: nobody. The hooks stay valid for ever: a thread may be in
  /// one while they are taken away.
  void set_range_hooks(const RangeHooks* hooks) noexcept {
    range_hooks_.store(hooks, std::memory_order_release);
  }
  /// Relaxed: the two below look again.
  bool has_range_hooks() const noexcept {
    return range_hooks_.load(std::memory_order_relaxed) != nullptr;
  }
  /// Of what start gave out, and of what is given to stop; any thread. Not of events that are not
  /// recorded: their handles name no single event.
  void begin_range(const void* handle, const EventStart& event) const noexcept;
  void end_range(const void* handle) const noexcept;

  /// For the child of a fork: nothing is recorded from here on.
  void close_in_child() noexcept {
    set_gate(0);
    set_range_hooks(nullptr);
    rings_.close_in_child();
  }

 private:
  void* not_recorded(EventType type, NotRecorded reason) const noexcept {
    return encode(make_event_id(type, false, static_cast<std::uint32_t>(reason), 0));
  }
  void* encode(EventId id) const noexcept { return reinterpret_cast<void*>(id ^ secret_); }
  std::uint64_t decode(const void* handle) const noexcept {
    return reinterpret_cast<std::uint64_t>(handle) ^ secret_;
  }
  /// Counts a callback of a thread that can have no ring. Out of line: it never happens.
  [[gnu::cold, gnu::noinline]] void count_without_ring(EventType type) noexcept;
  void append_small(Ring& ring, EventId id, RecordKind kind, const StatePayload* payload,
                    std::uint8_t flags) noexcept;
  /// Accounts for a state or stop that leaves no record; true if it is recorded.
  bool admit(Ring& ring, std::uint64_t id) noexcept;

  std::uint64_t secret_ = 0;                               ///< not 0 once prepared
  ClockSource clock_source_ = ClockSource::kClockGettime;  // which is 0
  std::int32_t pid_ = 0;
  /// The gate, and above it what it last let through. One word: who has seen a parent through a new
  /// gate must not find its children's types missing, on a machine that does not order two stores.
  std::atomic<std::uint64_t> masks_{0};
  std::atomic<const RangeHooks*> range_hooks_{nullptr};  // beside what every callback reads
  std::atomic<std::uint32_t> contexts_{0};
  std::array<std::atomic<std::uint64_t>, kAccountTypes> dropped_no_ring_{};
  RingPool rings_;
};

/// The process's recorder. Constant-initialised, so that it needs no construction at load.
extern Recorder g_recorder;

// The callbacks are inline, so that an adapter and the recorder are one function: the form between
// them stays in registers, and nothing is passed through memory or called.

inline std::uint32_t Recorder::context_number(const void* handle) const noexcept {
  const std::uint64_t id = decode(handle);
  if (!is_context_id(id)) {
    return 0;
  }
  const auto number = static_cast<std::uint32_t>(id);
  return number <= contexts_.load(std::memory_order_relaxed) ? number : 0;
}

[[gnu::always_inline]] inline void* Recorder::start(const EventStart& event) noexcept {
  // The secret is needed below; looking at it costs nothing more. Before the thread's ring: a
  // child's threads may still have that of its parent.
  if (is_wiped()) [[unlikely]] {
    return not_recorded(event.type, NotRecorded::kFiltered);
  }
  const auto index = static_cast<std::size_t>(event.type);
  Ring* const found = rings_.current();
  if (found == nullptr) [[unlikely]] {
    count_without_ring(event.type);
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
  const std::uint64_t allowed = masks_.load(std::memory_order_relaxed) >> (follows_parent ? 32 : 0);
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

[[gnu::always_inline]] inline bool Recorder::admit(Ring& ring, std::uint64_t id) noexcept {
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

[[gnu::always_inline]] inline void Recorder::append_small(Ring& ring, EventId id, RecordKind kind,
                                                          const StatePayload* payload,
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

inline void Recorder::state(void* handle, EventState state, std::uint64_t value, std::int32_t steps,
                            bool args_null) noexcept {
  if (is_wiped()) [[unlikely]] {
    return;
  }
  const std::uint64_t id = decode(handle);
  Ring* const ring = rings_.current();
  if (ring == nullptr) [[unlikely]] {
    const EventType type = is_event_id(id) ? event_type(id) : EventType::kUnknown;
    count_without_ring(type);
    return;
  }
  if (admit(*ring, id)) {
    const StatePayload payload{value, steps, static_cast<std::uint16_t>(state), 0, {}};
    append_small(*ring, id, RecordKind::kState, &payload, args_null ? kFlagArgsNull : 0);
  }
}

[[gnu::always_inline]] inline void Recorder::stop(void* handle) noexcept {
  if (is_wiped()) [[unlikely]] {
    return;
  }
  const std::uint64_t id = decode(handle);
  Ring* const ring = rings_.current();
  if (ring == nullptr) [[unlikely]] {
    const EventType type = is_event_id(id) ? event_type(id) : EventType::kUnknown;
    count_without_ring(type);
    return;
  }
  if (admit(*ring, id)) {
    append_small(*ring, id, RecordKind::kStop, nullptr, 0);
  }
}

}  // namespace ringside::record

#endif  // RINGSIDE_PLUGIN_RECORD_RECORDER_H
