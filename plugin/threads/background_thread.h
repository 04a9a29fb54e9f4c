// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_PLUGIN_THREADS_BACKGROUND_THREAD_H
#define RINGSIDE_PLUGIN_THREADS_BACKGROUND_THREAD_H

#include <cstddef>

namespace ringside::threads {

/// Starts a detached thread with all signals blocked. Signals are the application's, and a file
/// size limit must be an error of write(2), not SIGXFSZ, which would end the process. The thread
/// does not inherit a real-time policy from its caller, and may run on every CPU on which a thread
/// of the process may. `name`, a constant, has at most 15 letters. With 0 `stack_bytes`, the stack
/// has the system's size. False if there cannot be a thread.
bool start_background_thread(const char* name, std::size_t stack_bytes, void* (*main)(void*),
                             void* argument);

/// Whether these threads alone are left: the main thread has ended by pthread_exit(), and so has
/// every other thread of the application. Without them the process would have ended by now.
bool application_has_ended() noexcept;

}  // namespace ringside::threads

#endif  // RINGSIDE_PLUGIN_THREADS_BACKGROUND_THREAD_H
