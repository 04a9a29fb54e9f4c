// SPDX-License-Identifier: Apache-2.0
//
// Names of event types and states as the trace writes them.
#ifndef RINGSIDE_PLUGIN_ASSEMBLE_EVENT_NAMES_H
#define RINGSIDE_PLUGIN_ASSEMBLE_EVENT_NAMES_H

#include <array>
#include <cstddef>
#include <string_view>

#include "plugin/record/event_type.h"
#include "ringside/trace_schema.h"

namespace ringside::assemble {

inline constexpr std::array<std::string_view, record::kAccountTypes> kTypeNames = {
    "Group",           "Coll",      "P2p",      "ProxyOp",     "ProxyStep", "ProxyCtrl",
    "KernelCh",        "NetPlugin", "GroupApi", "CollApi",     "P2pApi",    "KernelLaunch",
    "CeColl",          "CeSync",    "CeBatch",  "KernelPhase", "Unknown",   schema::kTypeMark,
    schema::kTypeRange};

constexpr std::string_view type_name(record::EventType type) {
  return kTypeNames[static_cast<std::size_t>(type)];
}

/// Name of a ProxyCtrl state; an empty string for any other state.
constexpr std::string_view control_state_name(record::EventState state) {
  constexpr std::array<std::string_view, 6> kNames = {"Idle",   "Active", "Sleep",
                                                      "Wakeup", "Append", "AppendEnd"};
  const std::size_t at =
      static_cast<std::size_t>(state) - static_cast<std::size_t>(record::EventState::kCtrlIdle);
  return at < kNames.size() ? kNames[at] : std::string_view();
}

}  // namespace ringside::assemble

#endif  // RINGSIDE_PLUGIN_ASSEMBLE_EVENT_NAMES_H
