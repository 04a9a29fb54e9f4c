// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_PLUGIN_THREADS_BACKGROUND_THREAD_H
#define RINGSIDE_PLUGIN_THREADS_BACKGROUND_THREAD_H

#include <cstddef>

namespace ringside::control {

/// Starts a thread of the plugin's own, detached, with all signals blocked: they are the
/// application's, and SIGXFSZ of a file size limit is to be an error of write, not the end of the
/// process. `name` has at most 15 letters; `stack_bytes` 0: as the system has it. False if there
/// cannot be one.
bool start_background_thread(const char* name, std::size_t stack_bytes, void* (*main)(void*),
                             void* argument);

}  // namespace ringside::control

#endif  // RINGSIDE_PLUGIN_THREADS_BACKGROUND_THREAD_H
