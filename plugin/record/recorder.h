// SPDX-License-Identifier: Apache-2.0
//
// The hot path: NCCL's callbacks, on whatever thread NCCL makes them. A callback reads the clock
// once and appends once to the calling thread's ring. It makes no allocation, lock or system call,
// formats nothing and never waits. Only a thread's first event does: it gets a ring.
//
// An event whose parent is recorded is recorded too, if its type is selected. This holds even after
// a stop, so that operations are recorded to their end. Events without a parent of this process,
// and replays (whose parent was captured in a CUDA graph), are recorded while recording is on.
#ifndef RINGSIDE_PLUGIN_RECORD_RECORDER_H
#define RINGSIDE_PLUGIN_RECORD_RECORDER_H

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "plugin/record/clock.h"
#include "plugin/record/encode.h"
#include "plugin/record/event_start.h"
#include "plugin/record/handle.h"
#include "plugin/record/ring_pool.h"

namespace ringside::record {

/// The largest pages of this kind of machine; for others, see wipe_on_fork.
#if defined(__aarch64__)
inline constexpr std::size_t kPageBytes = 65536;
#else
inline constexpr std::size_t kPageBytes = 4096;
#endif

// The hooks by which nvtx/ shows NCCL's operations as ranges in another tool. The recorder calls
// them on NCCL's threads, after it has recorded an event and after its stop. Without hooks a
// callback pays nothing, because one bit of a word that it reads anyway says so.

/// Both are called with recorded events whose type can have a range. `stop` is also called with
/// events that have stopped before, since NCCL repeats some stops.
struct RangeHooks {
  void (*start)(EventId id, const EventStart& event) noexcept;
  void (*stop)(EventId id) noexcept;
};

/// Groups and operations have ranges, both as calls and as operations. Events of other types are
/// too many, or are not the application's work.
constexpr bool can_have_range(EventType type) {
  constexpr std::uint32_t kTypes = bit(EventType::kGroup) | bit(EventType::kColl) |
                                   bit(EventType::kP2p) | bit(EventType::kGroupApi) |
                                   bit(EventType::kCollApi) | bit(EventType::kP2pApi) |
                                   bit(EventType::kCeColl);
  return (kTypes & bit(type)) != 0;
}

/// Has pages of its own and is all zeros before prepare(), for wipe_on_fork().
class alignas(kPageBytes) Recorder {
 public:
  /// Chooses the clock and the process's secret. Called once, before the first event.
  void prepare() noexcept;

  /// Makes the kernel hand this object to forked children as zeros, so that they record nothing,
  /// even after _Fork() and clone(), which run no handlers of pthread_atfork. Kernels older than
  /// 4.14, or with larger pages, leave it to those handlers. The recorder must live as long as the
  /// process.
  void wipe_on_fork() noexcept;

  /// True if prepare() has not run, or this is the child of a fork. Any thread.
  bool is_wiped() const noexcept { return secret_ == 0; }

  /// For the child of a fork, where the kernel does not wipe the recorder.
  void wipe() noexcept;

  /// After a wipe: true for one thread, which must call prepare(). Other threads wait for that and
  /// get false.
  bool is_first_to_prepare() noexcept;

  // The three callbacks. Any thread. start always returns a value that is not NULL.
  void* start(const EventStart& event) noexcept;
  void state(void* handle, EventState state, std::uint64_t value, std::int32_t steps,
             bool args_null) noexcept;
  void stop(void* handle) noexcept;

  // The quick way for nearly all events (callbacks.h). If it returns false, it has done nothing,
  // and the caller must use the functions above. `read_again` returns the event once more, so that
  // fields which are only copied to the record need no registers until then.
  template <typename ReadAgain>
  bool quick_start(const EventStart& event, const ReadAgain& read_again, void** handle) noexcept;
  bool quick_start(const EventStart& event, void** handle) noexcept;
  bool quick_state(void* handle, EventState state, std::uint64_t value, std::int32_t steps,
                   bool args_null) noexcept;
  bool quick_stop(void* handle) noexcept;

  // The application's marks and ranges (ring.h), on any thread. Texts are cut at kMostText_bytes.
  // False: it is lost, and counted.
  bool mark(std::string_view text) noexcept;
  bool push(std::string_view text, std::string_view source) noexcept;
  /// Does nothing on a thread without an open range.
  void pop() noexcept;

  /// Counts an event of an unknown type, which is never recorded, and returns its handle.
  void* unknown_event() noexcept;

  /// Events that begin from now on are recorded if `types` has their bit.
  void set_gate(std::uint32_t types) noexcept {
    const std::uint64_t last = types != 0 ? types : masks_.load(std::memory_order_relaxed) >> 32;
    masks_.store(last << 32 | types, std::memory_order_relaxed);
  }
  /// Changes the types while recording goes on. Operations that have begun are recorded with the
  /// old types.
  void change_gate(std::uint32_t types) noexcept {
    const std::uint64_t last = masks_.load(std::memory_order_relaxed) >> 32 | types;
    masks_.store(last << 32 | types, std::memory_order_relaxed);
  }

  /// Returns the number of a new context, from 1. context_handle() makes the handle of it.
  std::uint32_t new_context() noexcept {
    return static_cast<std::uint32_t>(contexts_.fetch_add(1, std::memory_order_acq_rel) + 1);
  }
  void* context_handle(std::uint32_t context) const noexcept {
    return reinterpret_cast<void*>(((kContextTag << kTagShift) | context) ^ secret_);
  }
  /// Number of a context of this process; 0 for any other handle.
  std::uint32_t context_number(const void* handle) const noexcept {
    const std::uint64_t id = decode(handle, secret_);
    return is_own_context(id) ? static_cast<std::uint32_t>(id) : 0;
  }

  RingPool& rings() noexcept { return rings_; }
  ClockSource clock_source() const noexcept { return clock_source_; }
  std::uint64_t ticks() const noexcept { return read_ticks(clock_source_); }

  /// Callbacks that were lost because their thread could have no ring.
  std::uint64_t dropped_no_ring(EventType type) const noexcept {
    return dropped_no_ring_[static_cast<std::size_t>(type)].load(std::memory_order_relaxed);
  }

  /// Sets the hooks that show events as ranges, or NULL. They must stay valid for ever: a thread
  /// may still be in one when they are removed.
  void set_range_hooks(const RangeHooks* hooks) noexcept;
  /// These call the hooks: begin_range() after start(), with the handle that it returned, and
  /// end_range() after stop(). Any thread. Events that are not recorded have no range, because many
  /// of them share a handle.
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
  /// True for a context of this process. Its number is the lower half of the id.
  bool is_own_context(std::uint64_t id) const noexcept {
    // One comparison checks both the tag and the number, which begins at 1.
    const std::uint64_t before = id - ((kContextTag << kTagShift) + 1);
    return before < contexts_.load(std::memory_order_relaxed);
  }
  /// True if an event of this type is recorded. `follows_parent`: its parent is recorded.
  bool passes_gate(EventType type, bool follows_parent) const noexcept {
    const std::uint64_t asked = std::uint64_t{bit(type)} << (follows_parent ? 32 : 0);
    return (masks_.load(std::memory_order_relaxed) & asked) != 0;
  }
  /// True for a proxy operation of another process (PXN), whose parent handle means nothing here.
  /// NCCL reports that process's id and context with it. In containers the ids of both processes
  /// may be equal.
  bool is_remote(const EventStart& event, bool foreign_context = false) const noexcept {
    return event.type == EventType::kProxyOp && (event.proxy_op.pid != pid_ || foreign_context);
  }
  bool quick_small(const void* handle, RecordKind kind, const StatePayload* payload,
                   std::uint8_t flags) noexcept;
  void small(const void* handle, RecordKind kind, const StatePayload* payload,
             std::uint8_t flags) noexcept;
  void count_without_ring(EventType type) noexcept;
  Ring* ring_for_marks(EventType type) noexcept;

  /// The secret while the quick way is open, else 0. It is open if the clock is a register, no tool
  /// shows ranges, and this is no forked child: one load checks all three.
  std::atomic<std::uint64_t> quick_secret_{0};
  std::uint64_t secret_ = 0;                               ///< 0 before prepare()
  ClockSource clock_source_ = ClockSource::kClockGettime;  // the source whose value is 0
  std::int32_t pid_ = 0;
  /// The lower half is the gate. The upper half has the types that children of recorded parents may
  /// have. They are in one word, because a thread that sees a parent of a new gate must also see
  /// its children's types, even on a machine that reorders stores.
  std::atomic<std::uint64_t> masks_{0};
  std::atomic<const RangeHooks*> range_hooks_{nullptr};
  std::atomic<std::uint64_t> contexts_{0};  // number of contexts so far
  std::array<std::atomic<std::uint64_t>, kAccountTypes> dropped_no_ring_{};
  enum class Prepared : std::uint8_t { kNo, kUnderWay, kYes };  // kNo must be 0
  std::atomic<Prepared> prepared_{Prepared::kNo};
  RingPool rings_;
};

/// The process's recorder. Constant-initialised, so that it needs no construction at load.
extern Recorder g_recorder;

}  // namespace ringside::record

#endif  // RINGSIDE_PLUGIN_RECORD_RECORDER_H
