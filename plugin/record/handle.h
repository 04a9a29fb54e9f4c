// SPDX-License-Identifier: Apache-2.0
//
// The "pointers" that NCCL holds to our events and contexts are ids, never pointers.
//
//     63      56 55       54    51 50      39 38                                 0
//    +----------+--------+--------+----------+------------------------------------+
//    |   tag    |captured|  type  |   ring   |              counter               |   an event
//    +----------+--------+--------+----------+------------------------------------+
//    |   tag    |              0             |            context number          |   a context
//    +----------+----------------------------+------------------------------------+
//
// Each id is combined by XOR with a random secret of the process (getrandom). A value that this
// process did not give out (NULL, stack garbage, another process's pointer or handle) decodes to a
// wrong tag, or to a number that was never given out:
//
// - For an event that is recorded, tag, ring and counter are checked. A bit of ring and counter
//   that no id has had so far must be 0 (IdCheck). With 8 rings and a thousand million events in
//   one of them, 8 + 9 + 9 = 26 bits are checked; with 14 bits of counter in use, 42 are.
// - For an event that is not recorded, counter and ring are 0, except for two bits that hold the
//   reason. So 58 bits are checked.
// - For a context all bits are checked: its number must have been given out.
//
// The XOR of two processes' secrets is one constant. So all handles of one process pass the check
// of the other if that constant is 0 in the checked bits, and otherwise none does. No bit of the id
// is spent on the check: a ring keeps 39 bits of counter, enough for a week at a million events a
// second.
#ifndef RINGSIDE_PLUGIN_RECORD_HANDLE_H
#define RINGSIDE_PLUGIN_RECORD_HANDLE_H

#include <atomic>
#include <bit>
#include <cstdint>

#include "plugin/record/event_type.h"

namespace ringside::record {

/// Why an event has a handle but no record.
enum class NotRecorded : std::uint8_t {
  kFiltered = 0,  ///< not selected
  kDropped = 1,   ///< its ring was full, or its parent was dropped
  kNoRing = 2,    ///< its thread could have no ring
};

/// An event's id without the secret. Equal ids mean the same event.
using EventId = std::uint64_t;

inline constexpr int kCounterBits = 39;
inline constexpr int kRingBits = 12;
inline constexpr int kTypeShift = kCounterBits + kRingBits;
inline constexpr int kCapturedShift = kTypeShift + 4;
inline constexpr int kTagShift = 56;
inline constexpr std::uint64_t kCounterMask = (std::uint64_t{1} << kCounterBits) - 1;
inline constexpr std::uint64_t kRingMask = (std::uint64_t{1} << kRingBits) - 1;
inline constexpr std::uint64_t kEventTag = 0xA7;
inline constexpr std::uint64_t kUnrecordedTag = 0xA6;  ///< for events that have no record
inline constexpr std::uint64_t kContextTag = 0x5C;
inline constexpr std::uint64_t kMarkTag = 0x52;  ///< for marks and ranges, of which NCCL has none
inline constexpr int kMaxRings = 1 << kRingBits;

constexpr std::uint64_t type_bits(EventType type) {
  return static_cast<std::uint64_t>(type) << kTypeShift;
}
constexpr std::uint64_t captured_bit(bool captured) {
  return std::uint64_t{captured} << kCapturedShift;
}
constexpr EventId make_event_id(EventType type, bool captured, std::uint32_t ring,
                                std::uint64_t counter) {
  return (kEventTag << kTagShift) | captured_bit(captured) | type_bits(type) |
         (std::uint64_t{ring} << kCounterBits) | (counter & kCounterMask);
}

/// Makes the id of events that have no record. All such events of one type and reason share it.
constexpr EventId not_recorded_id(EventType type, NotRecorded reason) {
  return (kUnrecordedTag << kTagShift) | type_bits(type) |
         (static_cast<std::uint64_t>(reason) << kCounterBits);
}

/// Makes the id of a mark or a range, of which nobody has a handle, from that of an event.
constexpr EventId mark_id(EventId event) {
  return event ^ ((kEventTag ^ kMarkTag) << kTagShift);
}
constexpr bool is_mark_id(EventId id) {
  return (id >> kTypeShift) == (kMarkTag << (kTagShift - kTypeShift));
}

constexpr bool is_recorded(std::uint64_t id) {
  return (id >> kTagShift) == kEventTag;
}
inline constexpr std::uint64_t kTypeMask = std::uint64_t{0xF} << kTypeShift;
constexpr bool is_unrecorded(std::uint64_t id) {
  constexpr std::uint64_t kReasonMask = std::uint64_t{3} << kCounterBits;
  return (id & ~(kTypeMask | kReasonMask)) == kUnrecordedTag << kTagShift;
}
constexpr bool is_event_id(std::uint64_t id) {
  return is_recorded(id) || is_unrecorded(id);
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

/// The bits that are 0 in all ids of recorded events so far. A bit leaves this set before the first
/// id with it is given out, so a thread with such an id sees it gone.
class IdCheck {
 public:
  void prepare() noexcept { bits_.store(~kTypeMask, std::memory_order_relaxed); }

  /// Allows ids up to this ring and counter from now on.
  void allow(std::uint32_t ring, std::uint64_t counter) noexcept {
    const std::uint64_t unused =
        ~(with_all_below(ring) << kCounterBits | (with_all_below(counter) & kCounterMask));
    if ((bits_.load(std::memory_order_relaxed) & ~unused) != 0) {
      bits_.fetch_and(unused, std::memory_order_acq_rel);
    }
  }

  /// True for a recorded event of this process that was not captured in a CUDA graph.
  bool is_own_plain(std::uint64_t id) const noexcept {
    return ((id ^ kEventTag << kTagShift) & bits_.load(std::memory_order_relaxed)) == 0;
  }
  bool is_own_recorded(std::uint64_t id) const noexcept {
    return is_own_plain(id & ~captured_bit(true));
  }
  bool is_own(std::uint64_t id) const noexcept { return is_own_recorded(id) || is_unrecorded(id); }

 private:
  static constexpr std::uint64_t with_all_below(std::uint64_t number) {
    return number == 0 ? 0 : ~std::uint64_t{0} >> std::countl_zero(number);
  }
  std::atomic<std::uint64_t> bits_{0};
};

/// Makes a secret with which no id is encoded to a value whose top byte is 0x00 or 0xFF. NULL,
/// pointers of user space and small numbers of either sign have such a byte.
constexpr std::uint64_t usable_secret(std::uint64_t random) {
  const std::uint64_t tag = random >> kTagShift;
  const auto becomes_bad = [tag](std::uint64_t of) { return tag == of || tag == (of ^ 0xFF); };
  const bool is_bad =
      becomes_bad(kEventTag) || becomes_bad(kUnrecordedTag) || becomes_bad(kContextTag);
  return is_bad ? random ^ (std::uint64_t{0x0F} << kTagShift) : random;
}

}  // namespace ringside::record

#endif  // RINGSIDE_PLUGIN_RECORD_HANDLE_H
