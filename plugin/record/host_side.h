// SPDX-License-Identifier: Apache-2.0
//
// The cold calls of NCCL's interface, init and finalize, as the adapters hand them on. Declared
// here, where the adapters may look; defined in session/, which knows the configuration and all
// communicators.
#ifndef RINGSIDE_PLUGIN_RECORD_HOST_SIDE_H
#define RINGSIDE_PLUGIN_RECORD_HOST_SIDE_H

#include <cstdint>

namespace ringside::record {

/// NCCL's logger: level, subsystem flags, file, line, printf format.
using NcclLogger = void (*)(int level, unsigned long flags, const char* file, int line,
                            const char* format, ...);

/// What an init tells of a new communicator. Without identity (v1 to v3) only the first two are
/// set.
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

/// Never fails; never returns NULL. Writes the activation mask.
void* open_communicator(const CommunicatorInit& init) noexcept;

/// context may be anything.
void close_communicator(void* context) noexcept;

}  // namespace ringside::record

#endif  // RINGSIDE_PLUGIN_RECORD_HOST_SIDE_H
