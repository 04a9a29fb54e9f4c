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
#include "plugin/record/event_start.h"
#include "plugin/record/handle.h"
#include "plugin/record/ring_pool.h"

namespace ringside::record {

class Recorder {
 public:
  /// Once, before the first event: finds the clock, takes the process's secret.
  void prepare() noexcept;

  // The three callbacks. Any thread. start always returns a value that is not NULL.
  void* start(const EventStart& event) noexcept;
  void state(void* handle, EventState state, std::uint64_t value, std::int32_t steps,
             bool args_null) noexcept;
  void stop(void* handle) noexcept;

  /// Handle for an event of a type that is not known; counted, never recorded.
  void* unknown_event() noexcept;

  /// What begins from now on is recorded if its type is in `types` (bits of EventType). 0: nothing.
  void set_gate(std::uint32_t types) noexcept {
    if (types != 0) {
      types_.store(types, std::memory_order_relaxed);
    }
    gate_.store(types, std::memory_order_relaxed);
  }
  std::uint32_t gate() const noexcept { return gate_.load(std::memory_order_relaxed); }

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

  /// For the child of a fork: nothing is recorded from here on.
  void close_in_child() noexcept {
    gate_.store(0, std::memory_order_relaxed);
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
  void append_small(Ring& ring, EventId id, RecordKind kind, const StatePayload* payload,
                    std::uint8_t flags) noexcept;
  /// Accounts for a state or stop that leaves no record; true if it is recorded.
  bool admit(Ring& ring, std::uint64_t id) noexcept;

  std::uint64_t secret_ = 0;
  ClockSource clock_source_ = ClockSource::kClockGettime;
  std::int32_t pid_ = 0;
  std::atomic<std::uint32_t> gate_{0};
  std::atomic<std::uint32_t> types_{0};
  std::atomic<std::uint32_t> contexts_{0};
  std::array<std::atomic<std::uint64_t>, kAccountTypes> dropped_no_ring_{};
  RingPool rings_;
};

/// The process's recorder. Constant-initialised, so that it needs no construction at load.
extern Recorder g_recorder;

}  // namespace ringside::record

#endif  // RINGSIDE_PLUGIN_RECORD_RECORDER_H
