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
#include <cstddef>
#include <cstdint>

#include "plugin/record/clock.h"
#include "plugin/record/encode.h"
#include "plugin/record/event_start.h"
#include "plugin/record/handle.h"
#include "plugin/record/range_hook.h"
#include "plugin/record/ring_pool.h"

namespace ringside::record {

/// The largest pages of this kind of machine; for others, see wipe_on_fork.
#if defined(__aarch64__)
inline constexpr std::size_t kPageBytes = 65536;
#else
inline constexpr std::size_t kPageBytes = 4096;
#endif

/// In pages of its own, and all zeros before prepare(), so that it can be wiped (wipe_on_fork).
class alignas(kPageBytes) Recorder {
 public:
  /// Once, before the first event: finds the clock, takes the process's secret.
  void prepare() noexcept;

  /// Of a recorder that lives as long as the process: the kernel hands it to children as zeros.
  /// They record nothing then, however they were made: handlers of pthread_atfork do not run for
  /// _Fork() and clone(). Where the kernel cannot (older than 4.14, still larger pages) those
  /// handlers are all there is.
  void wipe_on_fork() noexcept;

  /// It is not prepared, or this is a child. Any thread.
  bool is_wiped() const noexcept { return secret_ == 0; }

  /// For the child of a fork, where the kernel has not wiped it.
  void wipe() noexcept;

  /// After it was wiped: true for one thread, which calls prepare(); the others wait for that.
  bool is_first_to_prepare() noexcept;

  // The three callbacks. Any thread. start always returns a value that is not NULL.
  void* start(const EventStart& event) noexcept;
  void state(void* handle, EventState state, std::uint64_t value, std::int32_t steps,
             bool args_null) noexcept;
  void stop(void* handle) noexcept;

  // The same for nearly all events (callbacks.h): those of which nothing needs a call, so that the
  // adapters' functions save hardly a register. False: nothing was done, and it is one for the
  // functions above.
  // `read_again` gives the same event once more, for what was not looked at before: so that nothing
  // of it has to be kept in registers meanwhile.
  template <typename ReadAgain>
  bool quick_start(const EventStart& event, const ReadAgain& read_again, void** handle) noexcept;
  bool quick_start(const EventStart& event, void** handle) noexcept;
  bool quick_state(void* handle, EventState state, std::uint64_t value, std::int32_t steps,
                   bool args_null) noexcept;
  bool quick_stop(void* handle) noexcept;

  /// Handle for an event of a type that is not known; counted, never recorded.
  void* unknown_event() noexcept;

  /// What begins from now on is recorded if its type is in `types` (bits of EventType). 0: nothing.
  void set_gate(std::uint32_t types) noexcept {
    const std::uint64_t last = types != 0 ? types : masks_.load(std::memory_order_relaxed) >> 32;
    masks_.store(last << 32 | types, std::memory_order_relaxed);
  }
  /// Other types from now on, while recording goes on. What NCCL was asked for before, it still
  /// gives for what has begun.
  void change_gate(std::uint32_t types) noexcept {
    const std::uint64_t last = masks_.load(std::memory_order_relaxed) >> 32 | types;
    masks_.store(last << 32 | types, std::memory_order_relaxed);
  }
  std::uint32_t gate() const noexcept {
    return static_cast<std::uint32_t>(masks_.load(std::memory_order_relaxed));
  }

  /// A new context: its number, from 1, and what NCCL is given for it.
  std::uint32_t new_context() noexcept {
    return static_cast<std::uint32_t>(contexts_.fetch_add(1, std::memory_order_acq_rel) + 1);
  }
  void* context_handle(std::uint32_t context) const noexcept {
    return reinterpret_cast<void*>(((kContextTag << kTagShift) | context) ^ secret_);
  }
  /// Number of a context of ours; 0 for NULL and for anything else.
  std::uint32_t context_number(const void* handle) const noexcept {
    const std::uint64_t id = decode(handle, secret_);
    return is_own_context(id) ? static_cast<std::uint32_t>(id) : 0;
  }

  RingPool& rings() noexcept { return rings_; }
  ClockSource clock_source() const noexcept { return clock_source_; }
  std::uint64_t ticks() const noexcept { return read_ticks(clock_source_); }

  /// Callbacks of threads that could have no ring, by type: produced and lost at once.
  std::uint64_t dropped_no_ring(EventType type) const noexcept {
    return dropped_no_ring_[static_cast<std::size_t>(type)].load(std::memory_order_relaxed);
  }

  /// Who shows events as ranges; NULL: nobody. The hooks stay valid for ever: a thread may be in
  /// one while they are taken away.
  void set_range_hooks(const RangeHooks* hooks) noexcept;
  /// Of what start gave out, and of what is given to stop, after them; any thread. Not of events
  /// that are not recorded: their handles name no single event.
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
    return encode(not_recorded_id(type, reason), secret_);
  }
  static void* encode(EventId id, std::uint64_t secret) noexcept {
    return reinterpret_cast<void*>(id ^ secret);
  }
  static std::uint64_t decode(const void* handle, std::uint64_t secret) noexcept {
    return reinterpret_cast<std::uint64_t>(handle) ^ secret;
  }
  /// Its number is the lower half.
  bool is_own_context(std::uint64_t id) const noexcept {
    // One comparison for the tag and for the number, from 1 on.
    const std::uint64_t before = id - ((kContextTag << kTagShift) + 1);
    return before < contexts_.load(std::memory_order_relaxed);
  }
  /// Whether such an event is recorded; one that follows a recorded parent, also after a stop.
  bool is_let_through(EventType type, bool follows_parent) const noexcept {
    const std::uint64_t asked = std::uint64_t{bit(type)} << (follows_parent ? 32 : 0);
    return (masks_.load(std::memory_order_relaxed) & asked) != 0;
  }
  /// With PXN another process's operation, whose handle says nothing here. It comes with that
  /// process's id and context; in containers the id may be ours, too.
  bool is_remote(const EventStart& event, bool foreign_context = false) const noexcept {
    return event.type == EventType::kProxyOp && (event.proxy_op.pid != pid_ || foreign_context);
  }
  bool quick_small(const void* handle, RecordKind kind, const StatePayload* payload,
                   std::uint8_t flags) noexcept;
  void small(const void* handle, RecordKind kind, const StatePayload* payload,
             std::uint8_t flags) noexcept;
  /// Counts a callback of a thread that can have no ring.
  void count_without_ring(EventType type) noexcept;

  /// The secret while the quick way is open: the clock is a register, and nobody shows ranges. One
  /// word says all three, and that this is no child.
  std::atomic<std::uint64_t> quick_secret_{0};
  std::uint64_t secret_ = 0;                               ///< not 0 once prepared
  ClockSource clock_source_ = ClockSource::kClockGettime;  // which is 0
  std::int32_t pid_ = 0;
  /// The gate, and above it what it last let through. One word: who has seen a parent through a new
  /// gate must not find its children's types missing, on a machine that does not order two stores.
  std::atomic<std::uint64_t> masks_{0};
  std::atomic<const RangeHooks*> range_hooks_{nullptr};
  std::atomic<std::uint64_t> contexts_{0};  // how many
  std::array<std::atomic<std::uint64_t>, kAccountTypes> dropped_no_ring_{};
  enum class Prepared : std::uint8_t { kNo, kUnderWay, kYes };  // all zeros at first
  std::atomic<Prepared> prepared_{Prepared::kNo};
  RingPool rings_;
};

/// The process's recorder. Constant-initialised, so that it needs no construction at load.
extern Recorder g_recorder;

}  // namespace ringside::record

#endif  // RINGSIDE_PLUGIN_RECORD_RECORDER_H
