// SPDX-License-Identifier: Apache-2.0
//
// Which events are recorded: the names of RINGSIDE_EVENTS, and what the default is for an NCCL.
#ifndef RINGSIDE_PLUGIN_CONFIG_EVENTS_H
#define RINGSIDE_PLUGIN_CONFIG_EVENTS_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ringside::control {

/// What was asked for. The default depends on the NCCL at hand and is resolved once that is known.
struct EventChoice {
  bool use_default = true;
  std::uint32_t types = 0;  ///< bits of record::EventType, in addition
};

/// Parses a comma-separated list of names. Nothing for an unknown name, which is put into
/// `unknown`.
std::optional<EventChoice> parse_events(std::string_view text, std::string& unknown);

/// The NCCL at hand.
struct NcclFacts {
  int abi_version = 0;
  int version = 0;  ///< as ncclGetVersion gives it; 0: not known
  /// Recording has been on since the first communicator. NCCL's counters of kernel channels
  /// miscount a rank's sends to itself (2.26 to 2.31); a kernel channel that is recorded only after
  /// such a send, which was not recorded, can wait for ever.
  bool recorded_from_start = true;
};

/// True if kernel-channel events can make this NCCL hang in ncclCommDestroy, or crash: from 2.29.2
/// on with broadcasts from several roots in a group or splitShare; any release where recording
/// begins after the first communicator. A version that is not known counts as affected.
bool kernels_can_hurt(const NcclFacts& nccl);

/// The event types to record, only such as the interface has.
std::uint32_t resolve_events(const EventChoice& choice, const NcclFacts& nccl);

/// Names of the types in a mask, as the trace writes them.
std::vector<std::string_view> event_names(std::uint32_t types);
/// The same with commas between them; "none" without any.
std::string event_names_text(std::uint32_t types);

}  // namespace ringside::control

#endif  // RINGSIDE_PLUGIN_CONFIG_EVENTS_H
