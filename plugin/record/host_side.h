// SPDX-License-Identifier: Apache-2.0
//
// The cold calls of NCCL's interface, init and finalize. The adapters call these functions, so they
// are declared in this room. They are defined in process/profiler.cc.
#ifndef RINGSIDE_PLUGIN_RECORD_HOST_SIDE_H
#define RINGSIDE_PLUGIN_RECORD_HOST_SIDE_H

#include <cstdint>

namespace ringside::record {

/// NCCL's logger, from version 4 of the interface on: level, subsystem flags, file, line, printf
/// format. It writes to stdout or to NCCL_DEBUG_FILE, only what NCCL_DEBUG asks for, and takes a
/// lock: for init only.
using NcclLogger = void (*)(int level, unsigned long flags, const char* file, int line,
                            const char* format, ...);
inline constexpr int kLogInfo = 3;
inline constexpr unsigned long kLogSubsystemInit = 0x1;
inline constexpr unsigned long kLogSubsystemProfile = 0x4000;

/// The arguments of an init. Without `has_identity` (v1 to v3) only the first two members are set.
struct CommunicatorInit {
  int abi_version;
  int* activation_mask;  ///< NCCL's own, one for the process
  bool has_identity;
  std::uint64_t comm_hash;
  const char* name;  ///< may be NULL
  int nnodes;
  int nranks;
  int rank;
  NcclLogger logger;  ///< may be NULL
};

/// Opens a communicator's context, writes the activation mask and returns the context's handle,
/// which is never NULL. Never fails.
void* open_communicator(const CommunicatorInit& init) noexcept;

/// Closes a context. Any other value is ignored.
void close_communicator(void* context) noexcept;

}  // namespace ringside::record

#endif  // RINGSIDE_PLUGIN_RECORD_HOST_SIDE_H
