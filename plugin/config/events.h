// SPDX-License-Identifier: Apache-2.0
//
// Decides which events are recorded: the names of RINGSIDE_EVENTS, and the default for each NCCL.
#ifndef RINGSIDE_PLUGIN_CONFIG_EVENTS_H
#define RINGSIDE_PLUGIN_CONFIG_EVENTS_H

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ringside::config {

/// The events that the user chose. The default depends on NCCL's version and is resolved when that
/// is known.
struct EventChoice {
  bool use_default = true;
  std::uint32_t types = 0;  ///< bits of record::EventType, in addition to the default
};

/// Parses a comma-separated list of names. Returns nothing if a name is unknown, and stores that
/// name in `unknown`.
std::optional<EventChoice> parse_events(std::string_view text, std::string& unknown);

/// NCCL's variables that keep kernel channels from hurting where all of them are "0": no broadcasts
/// from several roots as one kernel, and no communicators that share another's channels.
inline constexpr std::array<const char*, 3> kSafeForKernels = {"NCCL_ALLGATHERV_ENABLE",
                                                               "NCCL_COMM_SPLIT_SHARE_RESOURCES",
                                                               "NCCL_COMM_SHRINK_SHARE_RESOURCES"};

struct NcclFacts {
  int abi_version = 0;
  int version = 0;  ///< as ncclGetVersion returns it; 0: not known
  /// True if recording has been on since the first communicator. NCCL's counters of kernel channels
  /// miss operations that are not recorded: a rank's sends to itself before 2.31, all from then on.
  /// If a later kernel channel is recorded, NCCL can wait for it for ever, or crash.
  bool recorded_from_start = true;
  bool is_made_safe = false;  ///< by kSafeForKernels
};

/// True if kernel-channel events can make this NCCL hang in ncclCommDestroy, or crash. Releases
/// from 2.29.2 on can, and unknown ones, unless they are made safe. All can if recording begins
/// after the first communicator.
bool kernels_can_hurt(const NcclFacts& nccl);

/// Returns the event types to record: those that the interface has and that do not crash NCCL.
std::uint32_t resolve_events(const EventChoice& choice, const NcclFacts& nccl);

/// Returns the names of the types in a mask, as the trace writes them.
std::vector<std::string_view> event_names(std::uint32_t types);
/// The same with commas between them; "none" without any.
std::string event_names_text(std::uint32_t types);

}  // namespace ringside::config

#endif  // RINGSIDE_PLUGIN_CONFIG_EVENTS_H
