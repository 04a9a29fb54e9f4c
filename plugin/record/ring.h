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
// The release store of `commit` publishes a record; the consumer's acquire load pairs with it. The
// release store of `tail` gives the slots back; the producer's acquire load pairs with it, so the
// consumer's reads are over before the producer writes to these slots again. There is no shared
// head. The commit words show how far the producer has come, also to a program that reads the
// memory after the process has died.
//
// Only the producer writes the counters, so it needs no read-modify-write operations. They are
// atomic so that the consumer never reads half a value.
#ifndef RINGSIDE_PLUGIN_RECORD_RING_H
#define RINGSIDE_PLUGIN_RECORD_RING_H

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "plugin/record/clock.h"
#include "plugin/record/event_type.h"
#include "plugin/record/handle.h"
#include "plugin/record/names.h"
#include "plugin/record/slot.h"

namespace ringside::record {

/// The fate of callbacks on the producer's side, by event type. Each callback counts in `produced`
/// and in at most one of the others. The rest of `produced` is in the ring or was read from it.
struct ProducerCounts {
  using Counter = std::atomic<std::uint64_t>;
  std::array<Counter, kAccountTypes> produced;
  std::array<Counter, kAccountTypes> filtered;
  std::array<Counter, kAccountTypes> dropped_ring_full;
  std::array<Counter, kAccountTypes> dropped_parent;
  std::array<Counter, kAccountTypes> stale;  ///< callbacks with an unknown handle

  static void add(Counter& counter) noexcept {
    // Release order: a reader that loads the losses before `produced` never sees more lost than
    // produced.
    counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
};

/// Which part of a ring outlives the process.
enum class RingPlace : std::uint32_t {
  kFile,    ///< all of it
  kHead,    ///< its counters, in the file of heads: they say what is lost with the records
  kMemory,  ///< nothing
};

enum class RingState : std::uint32_t {
  kOwned,    ///< a thread appends
  kRetired,  ///< the thread has ended; records may be left
  kFree,     ///< empty, and may be taken by a new thread
};

inline constexpr std::uint64_t kRingMagic = 0x31474E4952534752U;  // "RGSRING1"
inline constexpr std::uint32_t kRingVersion = 2;

/// A cache entry: one name, or two that came together (function and datatype, algorithm and
/// protocol). The key is their addresses and the 16 bytes there, since the memory may hold another
/// name by now. Nearly all of NCCL's names are constants, and comparing is quicker than hashing.
struct alignas(64) CachedPair {
  /// Stand for the address in an empty entry, and for the second address in an entry of one name.
  /// No name can be at these addresses.
  static constexpr std::uint64_t kNothing = 1, kNoSecond = 2;

  std::array<std::uint64_t, 2> addresses = {kNothing, kNothing};
  TwoPrefixes bytes{};
  std::uint16_t codes = 0;  ///< the low byte is the first name's code

  // The addresses are compared first, because the 16 bytes are known to be readable at a cached
  // address only. So NULL is neither found nor read.
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

/// A thread's cache of names. Each bucket holds two pairs, because a program uses some 20 pairs and
/// two of them may well have the same hash.
struct NameCache {
  static constexpr int kBits = 6;
  std::array<std::array<CachedPair, 2>, 1 << kBits> buckets;

  std::array<CachedPair, 2>& bucket(const char* first, const char* second) noexcept {
    // Constants lie close together in memory. The top bits of a 32-bit product depend on all lower
    // bits of the sum.
    const auto mixed = static_cast<std::uint32_t>(reinterpret_cast<std::uint64_t>(first) +
                                                  3 * reinterpret_cast<std::uint64_t>(second));
    return buckets[mixed * 0x9E3779B9U >> (32 - kBits)];
  }
};

/// The ranges of the application that a thread has begun and not ended, the innermost last.
struct OpenRanges {
  static constexpr std::size_t kMost = 256;
  std::array<EventId, kMost> ids{};  ///< 0: the range is lost, and its end will be
  std::uint32_t count = 0;
  ClockSource clock = ClockSource::kClockGettime;  ///< of the records, for the thread's end
  std::uint64_t deeper = 0;                        ///< lost ranges within these
};

/// What a thread needs with its ring, but not in the ring's file: recovery has no use for it.
struct ThreadMemory {
  NameCache names;
  OpenRanges ranges;
};

/// Head of a ring, in memory or in a file that outlives the process. The slots follow it. It
/// describes itself: plugin/recover, which reads such files, checks the first five fields and
/// trusts none of the others.
struct Ring {
  std::uint64_t magic;
  std::uint32_t version;       ///< version of the layout of head and slots
  std::uint32_t header_bytes;  ///< from here to the slots
  std::uint32_t slot_bytes;
  std::uint32_t index;     ///< number of the ring in the process
  std::uint64_t capacity;  ///< in slots, a power of two
  std::atomic<RingState> state;
  std::atomic<std::int32_t> tid;      ///< thread id of the owner, or of the last owner
  std::atomic<std::uint32_t> owners;  ///< how many threads have had it
  std::array<std::atomic<char>, 16> thread_name;
  RingPlace place;
  /// 1: of a thread that marks before the first communicator, and in no file. It gets another one.
  std::uint32_t is_early;

  // The producer's own cache lines.
  alignas(128) std::uint64_t position;  ///< next slot to write
  std::uint64_t limit;      ///< first slot that may not be written, by the tail last loaded
  std::uint64_t next_id;    ///< id of the next event, without its type
  std::uint64_t byte_mask;  ///< size of all slots in bytes, minus 1
  NameCache* name_cache;    ///< NULL: no quick way, and each name is hashed
  int dynamic_names;        ///< how many of dynamic_name are in use
  std::array<NamePayload, kDynamicNames> dynamic_name;
  IdCheck* id_check;                  ///< the process's; may be NULL
  OpenRanges* open_ranges;            ///< of the owner; may be NULL, if it has none
  std::uint64_t kept_slots;           ///< for the ends of open ranges, which are never lost
  std::array<std::byte, 888> unused;  ///< keeps the offsets of the members below
  ProducerCounts counts;

  // The consumer's own cache line.
  alignas(128) std::atomic<std::uint64_t> tail;

  /// The drain thread has read the slots of the last lap, so their lines are in another processor's
  /// cache. A prefetch some records ahead brings them here before they are written.
  static constexpr std::uint64_t kPrefetchSlots = 16;
  static void prefetch_ahead_of(const Slot* slot) noexcept {
#if defined(__x86_64__)
    // On plain x86-64, __builtin_prefetch fetches a line for reading only. Processors that lack
    // prefetchw execute it as a NOP.
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

  /// A copy of the producer's position, taken once for each record. Without it, the compiler would
  /// load the position again after each store to a slot. Offsets of slots are in bytes, which saves
  /// an instruction for each slot.
  struct WriteCursor {
    Ring* ring;
    std::uint64_t byte_mask;
    std::uint64_t at;
    Slot* first;

    Slot& second() const noexcept { return *ring->slot_at((at + 1) * sizeof(Slot) & byte_mask); }
  };
  WriteCursor write_cursor() noexcept {
    return {this, byte_mask, position, slot_at(position * sizeof(Slot) & byte_mask)};
  }
  Slot* slot_at(std::uint64_t offset_bytes) noexcept {
    return reinterpret_cast<Slot*>(reinterpret_cast<char*>(this + 1) + offset_bytes);
  }

  /// Producer: true if `count` slots are free by the tail last loaded.
  bool has_room(const WriteCursor& cursor, std::uint64_t count) const noexcept {
    return limit - cursor.at >= count;
  }

  /// Producer: publishes the record of one or two slots that was written at the cursor.
  void commit(const WriteCursor& cursor, std::uint64_t count) noexcept {
    // Each slot prefetches the one that is kPrefetchSlots ahead, so all slots but the first ones of
    // a lap are prefetched. The wrap is not looked at: prefetching memory behind the ring does no
    // harm.
    prefetch_ahead_of(cursor.first);
    if (count == 2) {
      Slot& second = cursor.second();
      prefetch_ahead_of(&second);
      second.commit.store(cursor.at + 2, std::memory_order_release);
    }
    cursor.first->commit.store(cursor.at + 1, std::memory_order_release);
    position = cursor.at + count;
  }

  /// Producer: returns the first of `count` free slots, or NULL if there are not as many.
  Slot* reserve(std::uint64_t count) noexcept {
    const WriteCursor next = write_cursor();
    if (!has_room(next, count)) [[unlikely]] {
      limit = tail.load(std::memory_order_acquire) + capacity - kept_slots;
      // The counter restarts before it would overflow. This is the place to check it: until the
      // next call that runs out of room there are at most `capacity` events.
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

  void commit(std::uint64_t count) noexcept {
    commit(write_cursor(), count);
  }
  /// Producer: publishes a record of any number of slots.
  void commit_long(std::uint64_t count) noexcept {
    for (std::uint64_t i = count; i-- > 0;) {
      slot(position + i).commit.store(position + i + 1, std::memory_order_release);
    }
    position += count;
  }

  /// Producer: returns the id of a new event for which there is room. reserve() restarts the
  /// counter before it overflows.
  EventId take_id(EventType type) noexcept {
    return next_id++ | type_bits(type);
  }

  /// Consumer: returns the record at `at`, or NULL if it is not published yet.
  const Slot* peek(std::uint64_t at) noexcept {
    const Slot& found = slot(at);
    return found.commit.load(std::memory_order_acquire) == at + 1 ? &found : nullptr;
  }
};
static_assert(sizeof(Ring) == 4096 && offsetof(Ring, counts) == 3136 &&
              offsetof(Ring, tail) == 3968);

/// Looks names up in the thread's cache. Returns their codes, with the first name's in the low
/// byte, or -1 if the cache does not have them together. It never has NULL. Writes nothing.
/// Producer only.
struct CachedNames {
  [[gnu::always_inline]] static int codes(Ring& ring, const char* first,
                                          const char* second) noexcept {
    first = of_unknown_length(first);
    second = of_unknown_length(second);
    const std::array<CachedPair, 2>& bucket = ring.name_cache->bucket(first, second);
    if (bucket[0].are(first, second)) [[likely]] {
      return bucket[0].codes;
    }
    return bucket[1].are(first, second) ? bucket[1].codes : -1;
  }
  [[gnu::always_inline]] static int code(Ring& ring, const char* text) noexcept {
    text = of_unknown_length(text);
    const std::array<CachedPair, 2>& bucket = ring.name_cache->bucket(text, nullptr);
    if (bucket[0].is(text)) [[likely]] {
      return bucket[0].codes;
    }
    return bucket[1].is(text) ? bucket[1].codes : -1;
  }
};

/// Finds the codes of any names, and caches them if 16 bytes identify them. NULL has code 0. A name
/// that is not known to all rings gets a code of this ring, which a record announces before its
/// first use. Producer only.
struct ResolvedNames {
  static int codes(Ring& ring, const char* first, const char* second) noexcept;
  static int code(Ring& ring, const char* text) noexcept;
};

// The application's marks and ranges, as records of the calling thread's ring. A mark is a start
// without a stop. All functions are the producer's. `now` are ticks.

/// Records a mark with this text, of at most kMostText_bytes. False: there is no room. The loss is
/// counted.
bool append_mark(Ring& ring, std::string_view text, std::uint64_t now) noexcept;

/// Begins a range of the ring's owner. `source` has kMostText_bytes at most, too. False: there is
/// no room for the range and its end, or too many ranges are open. The loss is counted.
bool open_range(Ring& ring, std::string_view text, std::string_view source,
                std::uint64_t now) noexcept;

/// Ends the innermost open range, if there is one. This always has room.
void close_range(Ring& ring, std::uint64_t now) noexcept;

}  // namespace ringside::record

#endif  // RINGSIDE_PLUGIN_RECORD_RING_H
