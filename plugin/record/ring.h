// SPDX-License-Identifier: Apache-2.0
//
// A ring of slots with one producer, the NCCL thread that owns it, and one consumer, the drain
// thread.
//
//   producer                                        consumer
//   --------------------------------------------- ------------------------------------------------
//   room?  position - cached tail < capacity,       commit of slot[tail] == tail + 1 ?  (acquire)
//          else reload tail (acquire)               read the slots
//   write the slots                                 tail = tail + slots                 (release)
//   commit = position + 1, last slot first
//          (release)
//
// The release store of `commit` is what publishes a record; the acquire load of it is its partner.
// The release store of `tail` gives the slots back; the producer's acquire load of it is its
// partner: the consumer's reads are over before the producer writes there again. There is no shared
// head: the commit words say how far the producer is, also to somebody who finds the memory later.
//
// The counters are written by the producer alone, with plain loads and stores (no
// read-modify-write), and read by the consumer; being atomic only keeps them whole.
#ifndef RINGSIDE_PLUGIN_RECORD_RING_H
#define RINGSIDE_PLUGIN_RECORD_RING_H

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "plugin/record/event_type.h"
#include "plugin/record/names.h"
#include "plugin/record/slot.h"

namespace ringside::record {

/// What became of callbacks on the producer's side, by event type. Each callback is in `produced`,
/// and in at most one of the others; the rest of `produced` is in the ring or was read from it.
struct ProducerCounts {
  using Counter = std::atomic<std::uint64_t>;
  std::array<Counter, kAccountTypes> produced;
  std::array<Counter, kAccountTypes> filtered;
  std::array<Counter, kAccountTypes> dropped_ring_full;
  std::array<Counter, kAccountTypes> dropped_parent;
  std::array<Counter, kAccountTypes> stale;  ///< callbacks with a handle that is none of ours

  static void add(Counter& counter) noexcept {
    // Release, so that who reads a loss before `produced` never sees more lost than produced.
    counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
};

enum class RingState : std::uint32_t {
  kOwned,    ///< a thread appends
  kRetired,  ///< the thread has ended; records may be left
  kFree,     ///< empty, and may be taken by a new thread
};

inline constexpr std::uint64_t kRingMagic = 0x31474E4952534752U;  // "RGSRING1"
inline constexpr std::uint32_t kRingVersion = 1;

/// A name that the thread has met, by its address and the 16 bytes there: NCCL's names are
/// constants with few exceptions, and comparing is quicker than hashing. Memory that has another
/// name by now has other bytes.
struct SeenName {
  std::uint64_t address;
  NamePrefix bytes;
  std::uint64_t code;

  bool is(std::uint64_t where, const char* text) const noexcept {
    return address == where && bytes == read_bytes(text);
  }
};
inline constexpr std::size_t kSeenNames = 32;

/// Head of a ring in memory, or in a file that outlives the process; the slots follow it. Describes
/// itself: who finds such a file (plugin/recover) checks the first five fields, and trusts none of
/// the others.
struct Ring {
  std::uint64_t magic;
  std::uint32_t version;       ///< of the layout of head and slots
  std::uint32_t header_bytes;  ///< from here to the slots
  std::uint32_t slot_bytes;
  std::uint32_t index;     ///< of the ring in the process
  std::uint64_t capacity;  ///< in slots, a power of two
  std::atomic<RingState> state;
  std::atomic<std::int32_t> tid;      ///< of the owner, or of the last one
  std::atomic<std::uint32_t> owners;  ///< how many threads have had it
  std::array<std::atomic<char>, 16> thread_name;

  // The producer's own lines.
  alignas(128) std::uint64_t position;  ///< next slot to write
  std::uint64_t cached_tail;
  std::uint64_t next_counter;  ///< of the events' ids
  int dynamic_names;           ///< how many are in use
  std::array<NamePayload, kDynamicNames> dynamic_name;
  std::array<SeenName, kSeenNames> seen_names;
  ProducerCounts counts;

  // The consumer's own line.
  alignas(128) std::atomic<std::uint64_t> tail;

  /// The drain thread has read the slots of the last lap: their lines are in its processor's cache.
  /// Asked for some records ahead, they are here when they are written.
  static constexpr std::uint64_t kPrefetchSlots = 16;
  static void prefetch_for_write(const Slot* slot) noexcept {
#if defined(__x86_64__)
    // What __builtin_prefetch makes of it on plain x86-64 only reads. Processors that do not know
    // this instruction take it for a NOP.
    asm volatile("prefetchw %0" : : "m"(*slot));
#else
    __builtin_prefetch(slot, 1, 3);
#endif
  }

  Slot* slots() noexcept {
    return reinterpret_cast<Slot*>(this + 1);
  }
  Slot& slot(std::uint64_t at) noexcept {
    return slots()[at & (capacity - 1)];
  }

  /// Producer: the first of `count` slots to write to, or NULL if they do not fit now.
  Slot* reserve(std::uint64_t count) noexcept {
    if (position + count - cached_tail > capacity) [[unlikely]] {
      cached_tail = tail.load(std::memory_order_acquire);
      if (position + count - cached_tail > capacity) {
        return nullptr;
      }
    }
    return &slot(position);
  }

  /// Producer: publishes the record of one or two slots that begins at the reserved place.
  void commit(std::uint64_t count) noexcept {
    // Read once: for all that the compiler knows, a slot may be part of this head.
    const std::uint64_t at = position;
    const std::uint64_t mask = capacity - 1;
    Slot* const all = slots();
    // Each slot asks for the one that is so far ahead of it, so that none is left out.
    prefetch_for_write(&all[(at + kPrefetchSlots) & mask]);
    if (count == 2) {
      prefetch_for_write(&all[(at + 1 + kPrefetchSlots) & mask]);
      all[(at + 1) & mask].commit.store(at + 2, std::memory_order_release);
    }
    all[at & mask].commit.store(at + 1, std::memory_order_release);
    position = at + count;
  }

  /// Consumer: the record at `at`, or NULL if it is not there yet.
  const Slot* peek(std::uint64_t at) noexcept {
    const Slot& found = slot(at);
    return found.commit.load(std::memory_order_acquire) == at + 1 ? &found : nullptr;
  }
};
static_assert(sizeof(Ring) % 64 == 0);

/// The same for a name that the thread has not met there; `seen` are its two places. Out of line:
/// what it saves and restores would cost the others more than their search.
[[gnu::cold, gnu::noinline]] std::uint8_t new_name_code(Ring& ring, const char* text,
                                                        SeenName* seen) noexcept;

/// Code for a name: a known one's, or one of this ring's own, which is announced by a record before
/// it is first used. Producer only.
[[gnu::always_inline]] inline std::uint8_t name_code(Ring& ring, const char* text) noexcept {
  if (text == nullptr) {
    return kNameNone;
  }
  const auto address = reinterpret_cast<std::uint64_t>(text);
  // Constants lie close together, and differ in the bits above the shortest names' length. Two
  // places for each: two names of one operation may well fall on the same.
  SeenName* const seen = &ring.seen_names[(address >> 2 ^ address >> 7) % (kSeenNames / 2) * 2];
  if (seen[0].is(address, text)) [[likely]] {
    return static_cast<std::uint8_t>(seen[0].code);
  }
  if (seen[1].is(address, text)) {
    return static_cast<std::uint8_t>(seen[1].code);
  }
  return new_name_code(ring, text, seen);
}

}  // namespace ringside::record

#endif  // RINGSIDE_PLUGIN_RECORD_RING_H
