// SPDX-License-Identifier: Apache-2.0
//
// What NCCL holds as "pointers" to our events and contexts: ids, never pointers.
//
//     63      56 55       54    51 50      39 38                                 0
//    +----------+--------+--------+----------+------------------------------------+
//    |   tag    |captured|  type  |   ring   |              counter               |   an event
//    +----------+--------+--------+----------+------------------------------------+
//    |   tag    |              0             |            context number          |   a context
//    +----------+----------------------------+------------------------------------+
//
// combined by XOR with a random secret of the process (getrandom). A value that this process did
// not give out (NULL, stack garbage, another process's pointer or handle) decodes to a wrong tag,
// or to a number that was never given out:
//
// - Of an event that is recorded, tag, ring and counter are looked at. A bit of ring and counter
//   that no id has had so far must be 0 (IdCheck). With 8 rings, and a thousand million events in
//   one, that is 8 + 9 + 9 = 26 bits; where it has 14 bits of counter, as soon after the begin, 42.
// - Of an event that is not recorded counter and ring are 0, but for the two bits that say why.
//   So 58 bits are looked at.
// - Of a context all bits are looked at: its number must have been given out.
//
// The secrets of two processes differ by one value. So either all handles of the one pass for those
// of the other that are alike in these bits, or none. No bit is spent on this: a ring keeps 39 bits
// of counter, which last for a week of a million events a second.
#ifndef RINGSIDE_PLUGIN_RECORD_HANDLE_H
#define RINGSIDE_PLUGIN_RECORD_HANDLE_H

#include <atomic>
#include <bit>
#include <cstdint>

#include "plugin/record/event_type.h"

namespace ringside::record {

/// Why an event has a handle but no record.
enum class NotRecorded : std::uint8_t {
  kFiltered = 0,  ///< not asked for
  kDropped = 1,   ///< its ring was full, or its parent was lost so
  kNoRing = 2,    ///< its thread could have no ring
};

/// An event's id without the secret. Equal ids are equal events.
using EventId = std::uint64_t;

inline constexpr int kCounterBits = 39;
inline constexpr int kRingBits = 12;
inline constexpr int kTypeShift = kCounterBits + kRingBits;
inline constexpr int kCapturedShift = kTypeShift + 4;
inline constexpr int kTagShift = 56;
inline constexpr std::uint64_t kCounterMask = (std::uint64_t{1} << kCounterBits) - 1;
inline constexpr std::uint64_t kRingMask = (std::uint64_t{1} << kRingBits) - 1;
inline constexpr std::uint64_t kEventTag = 0xA7;
inline constexpr std::uint64_t kLeftOutTag = 0xA6;  ///< of an event that has no record
inline constexpr std::uint64_t kContextTag = 0x5C;
inline constexpr int kMaxRings = 1 << kRingBits;

constexpr std::uint64_t type_bits(EventType type) {
  return static_cast<std::uint64_t>(type) << kTypeShift;
}
constexpr std::uint64_t captured_bit(bool captured) {
  return std::uint64_t{captured} << kCapturedShift;
}
/// Id of an event that has a record.
constexpr EventId make_event_id(EventType type, bool captured, std::uint32_t ring,
                                std::uint64_t counter) {
  return (kEventTag << kTagShift) | captured_bit(captured) | type_bits(type) |
         (std::uint64_t{ring} << kCounterBits) | (counter & kCounterMask);
}

/// Id of an event that has no record.
constexpr EventId not_recorded_id(EventType type, NotRecorded reason) {
  return (kLeftOutTag << kTagShift) | type_bits(type) |
         (static_cast<std::uint64_t>(reason) << kCounterBits);
}

constexpr bool is_recorded(std::uint64_t id) {
  return (id >> kTagShift) == kEventTag;
}
inline constexpr std::uint64_t kTypeMask = std::uint64_t{0xF} << kTypeShift;
constexpr bool is_left_out(std::uint64_t id) {
  constexpr std::uint64_t kReasonMask = std::uint64_t{3} << kCounterBits;
  return (id & ~(kTypeMask | kReasonMask)) == kLeftOutTag << kTagShift;
}
/// Either.
constexpr bool is_event_id(std::uint64_t id) {
  return is_recorded(id) || is_left_out(id);
}
constexpr bool is_context_id(std::uint64_t id) {
  return (id >> 32) == (kContextTag << 24);
}
constexpr EventType event_type(EventId id) {
  return static_cast<EventType>((id >> kTypeShift) & (kEventTypes - 1));
}
constexpr bool is_captured(EventId id) {
  return ((id >> kCapturedShift) & 1) != 0;
}
constexpr std::uint64_t event_counter(EventId id) {
  return id & kCounterMask;
}
constexpr std::uint32_t event_ring(EventId id) {
  return static_cast<std::uint32_t>((id >> kCounterBits) & kRingMask);
}
constexpr NotRecorded not_recorded_reason(EventId id) {
  return static_cast<NotRecorded>(event_ring(id) & 3);
}

/// What all ids of recorded events of this process have had in common so far. A bit is given up
/// before the first id that needs it is given out; whoever has that id from there sees it given up.
class IdCheck {
 public:
  void prepare() noexcept { bits_.store(~kTypeMask, std::memory_order_relaxed); }

  /// Ids up to this ring's and counter's may be given out from now on.
  void allow(std::uint32_t ring, std::uint64_t counter) noexcept {
    const std::uint64_t unused =
        ~(with_all_below(ring) << kCounterBits | (with_all_below(counter) & kCounterMask));
    if ((bits_.load(std::memory_order_relaxed) & ~unused) != 0) {
      bits_.fetch_and(unused, std::memory_order_acq_rel);
    }
  }

  /// Recorded, and not captured in a CUDA graph.
  bool is_own_plain(std::uint64_t id) const noexcept {
    return ((id ^ kEventTag << kTagShift) & bits_.load(std::memory_order_relaxed)) == 0;
  }
  bool is_own_recorded(std::uint64_t id) const noexcept {
    return is_own_plain(id & ~captured_bit(true));
  }
  /// Recorded, or not.
  bool is_own(std::uint64_t id) const noexcept { return is_own_recorded(id) || is_left_out(id); }

 private:
  static constexpr std::uint64_t with_all_below(std::uint64_t number) {
    return number == 0 ? 0 : ~std::uint64_t{0} >> std::countl_zero(number);
  }
  std::atomic<std::uint64_t> bits_{0};
};

/// A secret under which no id of any kind becomes a value whose top byte is 0x00 or 0xFF: NULL,
/// any pointer of user space, or a small number of either sign.
constexpr std::uint64_t usable_secret(std::uint64_t random) {
  const std::uint64_t tag = random >> kTagShift;
  const auto becomes_bad = [tag](std::uint64_t of) { return tag == of || tag == (of ^ 0xFF); };
  const bool is_bad =
      becomes_bad(kEventTag) || becomes_bad(kLeftOutTag) || becomes_bad(kContextTag);
  return is_bad ? random ^ (std::uint64_t{0x0F} << kTagShift) : random;
}

}  // namespace ringside::record

#endif  // RINGSIDE_PLUGIN_RECORD_HANDLE_H
