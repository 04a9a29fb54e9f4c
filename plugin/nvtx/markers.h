// SPDX-License-Identifier: Apache-2.0
//
// NCCL's operations as NVTX ranges, for whatever tool is attached (docs/markers.md). Ranges are
// begun and ended by record/range_hook.h on NCCL's threads; of ours they pay neither an allocation,
// nor a lock, nor a system call: what the tool does is the tool's.
#ifndef RINGSIDE_PLUGIN_NVTX_MARKERS_H
#define RINGSIDE_PLUGIN_NVTX_MARKERS_H

#include <cstdint>
#include <string_view>

#include "plugin/assemble/rows.h"

namespace ringside::nvtx {

enum class Scope : std::uint8_t { kOff, kAll, kCrossNode };

enum class Installed : std::uint8_t {
  kYes,
  kNoTool,    ///< nothing is attached that takes NVTX: nothing was installed
  kNotBuilt,  ///< this build was made without NVTX's headers
  kNoMemory,
};

/// Loads the attached tool, if there is one, and begins. Once in a process, before its first event;
/// not on a thread that is in a hurry. `gpu_serial` and `vm_id` are the user's own words for GPU
/// and host; without a gpu_serial each communicator's GPU is told by its UUID.
Installed install(Scope scope, std::string_view gpu_serial, std::string_view vm_id) noexcept;

/// Tells what ranges of a communicator are to say; any thread, before its first event. Without
/// install it does nothing. Communicators beyond the 65,535th are not known.
void add_communicator(const assemble::Communicator& communicator) noexcept;

/// Ranges that were not begun, because too many are open.
std::uint64_t ranges_without_room() noexcept;

}  // namespace ringside::nvtx

#endif  // RINGSIDE_PLUGIN_NVTX_MARKERS_H
