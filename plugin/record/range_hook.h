// SPDX-License-Identifier: Apache-2.0
//
// Where markers come in: whoever shows NCCL's operations as ranges of another tool (nvtx/) is
// called here, on NCCL's thread, after an event was recorded and after its stop. With no hook a
// callback pays nothing: that there is none is part of what it looks at anyway (recorder.h).
#ifndef RINGSIDE_PLUGIN_RECORD_RANGE_HOOK_H
#define RINGSIDE_PLUGIN_RECORD_RANGE_HOOK_H

#include "plugin/record/event_start.h"
#include "plugin/record/handle.h"

namespace ringside::record {

/// Both are called with events that are recorded and whose type can have a range; `stop` also with
/// events whose stop came already, since NCCL repeats some.
struct RangeHooks {
  void (*start)(EventId id, const EventStart& event) noexcept;
  void (*stop)(EventId id) noexcept;
};

/// Groups and operations, as called and as executed. The others are too many, or no work of the
/// application's.
constexpr bool can_have_range(EventType type) {
  constexpr std::uint32_t kTypes = bit(EventType::kGroup) | bit(EventType::kColl) |
                                   bit(EventType::kP2p) | bit(EventType::kGroupApi) |
                                   bit(EventType::kCollApi) | bit(EventType::kP2pApi) |
                                   bit(EventType::kCeColl);
  return (kTypes & bit(type)) != 0;
}

}  // namespace ringside::record

#endif  // RINGSIDE_PLUGIN_RECORD_RANGE_HOOK_H
