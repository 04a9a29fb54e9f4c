// SPDX-License-Identifier: Apache-2.0
//
// The debug logger that NCCL hands to init from version 4 of the profiler interface on. It writes
// to stdout or to NCCL_DEBUG_FILE, only what NCCL_DEBUG asks for, and takes a lock: for init only.
#ifndef RINGSIDE_PLUGIN_ABI_LOGGER_H
#define RINGSIDE_PLUGIN_ABI_LOGGER_H

namespace ringside::abi {

/// flags selects NCCL's subsystems. printf-style.
using Logger = void (*)(int level, unsigned long flags, const char* file, int line,
                        const char* format, ...);

inline constexpr int kLogWarn = 2;
inline constexpr int kLogInfo = 3;

inline constexpr unsigned long kLogSubsystemInit = 0x1;
inline constexpr unsigned long kLogSubsystemProfile = 0x4000;

}  // namespace ringside::abi

#endif  // RINGSIDE_PLUGIN_ABI_LOGGER_H
