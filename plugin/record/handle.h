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
// combined by XOR with a random secret of the process. A value that this process did not give out
// (NULL, stack garbage, another process's pointer or handle) decodes to a wrong tag, or to a number
// that was never given out. Counter 0 marks an event that is not recorded; the ring field then says
// why.
#ifndef RINGSIDE_PLUGIN_RECORD_HANDLE_H
#define RINGSIDE_PLUGIN_RECORD_HANDLE_H

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
constexpr bool is_left_out(std::uint64_t id) {
  return (id >> kTagShift) == kLeftOutTag;
}
/// Either.
constexpr bool is_event_id(std::uint64_t id) {
  static_assert((kEventTag ^ kLeftOutTag) == 1);
  return (id >> (kTagShift + 1)) == kEventTag >> 1;
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
/// Recorded, and not captured in a CUDA graph; one comparison.
constexpr bool is_recorded_plain(std::uint64_t id) {
  static_assert(kCapturedShift + 1 == kTagShift);
  return id >> kCapturedShift == kEventTag << 1;
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
