// SPDX-License-Identifier: Apache-2.0
//
// The hooks by which nvtx/ shows NCCL's operations as ranges in another tool. The recorder calls
// them on NCCL's threads, after it has recorded an event and after its stop. Without hooks a
// callback pays nothing, because one bit of a word that it reads anyway says so (recorder.h).
#ifndef RINGSIDE_PLUGIN_RECORD_RANGE_HOOK_H
#define RINGSIDE_PLUGIN_RECORD_RANGE_HOOK_H

#include "plugin/record/event_start.h"
#include "plugin/record/handle.h"

namespace ringside::record {

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

}  // namespace ringside::record

#endif  // RINGSIDE_PLUGIN_RECORD_RANGE_HOOK_H
