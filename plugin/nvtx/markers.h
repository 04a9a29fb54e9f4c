// SPDX-License-Identifier: Apache-2.0
//
// Shows NCCL's operations as NVTX ranges in an attached tool (docs/markers.md). The hooks of
// record/recorder.h begin and end the ranges on NCCL's threads. This code adds no allocation, no
// lock and no system call there. The tool may.
#ifndef RINGSIDE_PLUGIN_NVTX_MARKERS_H
#define RINGSIDE_PLUGIN_NVTX_MARKERS_H

#include <cstdint>
#include <string_view>

#include "plugin/assemble/rows.h"

namespace ringside::nvtx {

enum class Scope : std::uint8_t { kOff, kAll, kCrossNode };

/// Loads the attached tool, if there is one, and begins. The session calls this once in a process,
/// before the first event; loading a tool can take seconds. `gpu_serial` and `vm_id` are the user's
/// names of the GPU and of the host. If `gpu_serial` is empty, a range has the UUID of its
/// communicator's GPU. Returns why there are no ranges; empty: there are.
std::string_view install(Scope scope, std::string_view gpu_serial, std::string_view vm_id) noexcept;

/// Sets what the ranges of a communicator show. Any thread, before the communicator's first event.
/// Without install() this does nothing. Ranges of communicators beyond the 65,535th show nothing of
/// their communicator.
void add_communicator(const assemble::Communicator& communicator) noexcept;

/// How many ranges were not begun, because too many were open.
std::uint64_t ranges_without_room() noexcept;

}  // namespace ringside::nvtx

#endif  // RINGSIDE_PLUGIN_NVTX_MARKERS_H
