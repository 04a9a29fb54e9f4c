// SPDX-License-Identifier: Apache-2.0
//
// A ring of slots with one producer, the NCCL thread that owns it, and one consumer, the drain
// thread.
//
//   producer                                        consumer
//   --------------------------------------------- ------------------------------------------------
//   room?  position < limit, else limit =           commit of slot[tail] == tail + 1 ?  (acquire)
//          tail + capacity (acquire)                read the slots
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
#include "plugin/record/handle.h"
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

/// Two names that the thread has met together (function and datatype, algorithm and protocol), by
/// their addresses and the 16 bytes there: NCCL's names are constants with few exceptions, and
/// comparing is quicker than hashing. Memory that has another name by now has other bytes.
struct alignas(64) SeenNames {
  /// In place of an address: of no name, and of no second one. No name is at either.
  static constexpr std::uint64_t kNothing = 1, kNoSecond = 2;

  std::array<std::uint64_t, 2> addresses = {kNothing, kNothing};
  TwoPrefixes bytes{};
  std::uint16_t codes = 0;  ///< the first's is the low byte

  // The addresses first: that their 16 bytes can be read is known of them alone. So NULL is never
  // found, nor read.
  bool are(const char* first, const char* second) const noexcept {
    if (reinterpret_cast<std::uint64_t>(first) != addresses[0] ||
        reinterpret_cast<std::uint64_t>(second) != addresses[1]) [[unlikely]] {
      return false;
    }
    return have_bytes(first, second, bytes);
  }
  bool is(const char* only) const noexcept {
    if (reinterpret_cast<std::uint64_t>(only) != addresses[0] || addresses[1] != kNoSecond)
        [[unlikely]] {
      return false;
    }
    return has_bytes(only, bytes.first);
  }
};

/// Where a thread finds the names that it has met. Two places for each pair: those of one program
/// are some 20, and two may well fall on the same.
struct SeenTable {
  static constexpr int kBits = 6;
  std::array<std::array<SeenNames, 2>, 1 << kBits> places;

  std::array<SeenNames, 2>& of(const char* first, const char* second) noexcept {
    // Constants lie close together; the top bits of a product of 32 bits depend on all of the sum's
    // lower ones.
    const auto mixed = static_cast<std::uint32_t>(reinterpret_cast<std::uint64_t>(first) +
                                                  3 * reinterpret_cast<std::uint64_t>(second));
    return places[mixed * 0x9E3779B9U >> (32 - kBits)];
  }
};

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
  std::uint64_t limit;      ///< the first slot that may not be written to, by the tail last seen
  std::uint64_t next_id;    ///< of an event, but for its type
  std::uint64_t byte_mask;  ///< of a slot's offset: as many bytes as there are, less 1
  SeenTable* seen;          ///< NULL: never the quick way, and names are looked up each time
  int dynamic_names;        ///< how many are in use
  std::array<NamePayload, kDynamicNames> dynamic_name;
  IdCheck* id_check;                   ///< the process's; NULL: nobody checks
  std::array<std::byte, 1000> unused;  ///< what follows stays where it was
  ProducerCounts counts;

  // The consumer's own line.
  alignas(128) std::atomic<std::uint64_t> tail;

  /// The drain thread has read the slots of the last lap: their lines are in its processor's cache.
  /// Asked for some records ahead, they are here when they are written.
  static constexpr std::uint64_t kPrefetchSlots = 16;
  static void prefetch_ahead_of(const Slot* slot) noexcept {
#if defined(__x86_64__)
    // What __builtin_prefetch makes of it on plain x86-64 only reads. Processors that do not know
    // this instruction take it for a NOP.
    asm volatile("prefetchw %c1(%0)" : : "r"(slot), "i"(kPrefetchSlots * sizeof(Slot)));
#else
    __builtin_prefetch(slot + kPrefetchSlots, 1, 3);
#endif
  }

  Slot* slots() noexcept {
    return reinterpret_cast<Slot*>(this + 1);
  }
  Slot& slot(std::uint64_t at) noexcept {
    return slots()[at & (capacity - 1)];
  }

  /// Where the producer writes next. Read once for a record: for all that the compiler knows, a
  /// slot may be part of this head. In bytes, since that is one instruction less for each slot.
  struct Place {
    Ring* ring;
    std::uint64_t byte_mask;
    std::uint64_t at;
    Slot* first;

    Slot& second() const noexcept { return *ring->slot_at((at + 1) * sizeof(Slot) & byte_mask); }
  };
  Place place() noexcept {
    return {this, byte_mask, position, slot_at(position * sizeof(Slot) & byte_mask)};
  }
  Slot* slot_at(std::uint64_t offset_bytes) noexcept {
    return reinterpret_cast<Slot*>(reinterpret_cast<char*>(this + 1) + offset_bytes);
  }

  /// Producer: whether `count` slots are free, as far as is known without asking.
  bool has_room(const Place& place, std::uint64_t count) const noexcept {
    return limit - place.at >= count;
  }

  /// Producer: publishes the record of one or two slots that was written there.
  void commit(const Place& place, std::uint64_t count) noexcept {
    // Each slot asks for the one that is so far ahead of it, so that none is left out but the first
    // ones of a lap: where it wraps is not looked at, and what lies behind the ring does no harm.
    prefetch_ahead_of(place.first);
    if (count == 2) {
      Slot& second = place.second();
      prefetch_ahead_of(&second);
      second.commit.store(place.at + 2, std::memory_order_release);
    }
    place.first->commit.store(place.at + 1, std::memory_order_release);
    position = place.at + count;
  }

  /// Producer: the first of `count` slots to write to, or NULL if they do not fit now.
  Slot* reserve(std::uint64_t count) noexcept {
    const Place next = place();
    if (!has_room(next, count)) [[unlikely]] {
      limit = tail.load(std::memory_order_acquire) + capacity;
      // Here, since before they are next asked for room there are no more events than this.
      if (kCounterMask - event_counter(next_id) <= capacity) {
        next_id = make_event_id(EventType{}, false, index, 1);
      }
      if (id_check != nullptr) {
        id_check->allow(index, event_counter(next_id) + capacity);
      }
      if (!has_room(next, count)) {
        return nullptr;
      }
    }
    return next.first;
  }

  /// Producer: publishes the record that begins at the reserved place.
  void commit(std::uint64_t count) noexcept {
    commit(place(), count);
  }

  /// Producer: the id of an event for which there is room. Their numbers begin anew before they
  /// come to 0 (reserve).
  EventId take_id(EventType type) noexcept {
    return next_id++ | type_bits(type);
  }

  /// Consumer: the record at `at`, or NULL if it is not there yet.
  const Slot* peek(std::uint64_t at) noexcept {
    const Slot& found = slot(at);
    return found.commit.load(std::memory_order_acquire) == at + 1 ? &found : nullptr;
  }
};
static_assert(sizeof(Ring) == 4096 && offsetof(Ring, counts) == 3232 &&
              offsetof(Ring, tail) == 3968);

/// Codes of names that the thread has met there, the first's in the low byte; -1 if it has not met
/// these together, as it never has NULL. Writes nothing. Producer only.
struct MetNames {
  [[gnu::always_inline]] static int codes(Ring& ring, const char* first,
                                          const char* second) noexcept {
    first = of_unknown_length(first);
    second = of_unknown_length(second);
    const std::array<SeenNames, 2>& seen = ring.seen->of(first, second);
    if (seen[0].are(first, second)) [[likely]] {
      return seen[0].codes;
    }
    return seen[1].are(first, second) ? seen[1].codes : -1;
  }
  [[gnu::always_inline]] static int code(Ring& ring, const char* text) noexcept {
    text = of_unknown_length(text);
    const std::array<SeenNames, 2>& seen = ring.seen->of(text, nullptr);
    if (seen[0].is(text)) [[likely]] {
      return seen[0].codes;
    }
    return seen[1].is(text) ? seen[1].codes : -1;
  }
};

/// Codes of any names: a known one's, or one of this ring's own, which is announced by a record
/// before it is first used; 0 of NULL. From then on they are met, but for NULL and for what 16
/// bytes do not tell. Producer only.
struct AllNames {
  static int codes(Ring& ring, const char* first, const char* second) noexcept;
  static int code(Ring& ring, const char* text) noexcept;
};

}  // namespace ringside::record

#endif  // RINGSIDE_PLUGIN_RECORD_RING_H
