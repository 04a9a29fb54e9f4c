// SPDX-License-Identifier: Apache-2.0
//
// Asks the NCCL that loaded the plugin for its version.
#ifndef RINGSIDE_PLUGIN_SESSION_NCCL_LIBRARY_H
#define RINGSIDE_PLUGIN_SESSION_NCCL_LIBRARY_H

namespace ringside::session {

/// Version of the NCCL in which `inside` lies (the activation mask is a variable of NCCL's), as
/// ncclGetVersion gives it, e.g. 22907; 0 if it cannot be found.
int nccl_version_of(const void* inside) noexcept;

}  // namespace ringside::session

#endif  // RINGSIDE_PLUGIN_SESSION_NCCL_LIBRARY_H
