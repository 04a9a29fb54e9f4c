// SPDX-License-Identifier: Apache-2.0
//
// Functions and members that only one thread may use. A role is no lock: it costs nothing at run
// time. A thread takes its role where it begins, and clang checks that functions and members of
// that role are used by functions of that role only.
#ifndef RINGSIDE_PLUGIN_THREADS_THREAD_ROLE_H
#define RINGSIDE_PLUGIN_THREADS_THREAD_ROLE_H

#include "plugin/threads/annotations.h"

namespace ringside::threads {

class RINGSIDE_CAPABILITY("role") ThreadRole {
 public:
  /// The calling thread has this role. Called where the thread begins, or where a comment says why
  /// no thread has the role at that moment.
  void assume() const RINGSIDE_ASSERT_CAPABILITY(this) {}
};

/// The thread that reads the rings and writes the trace.
inline constexpr ThreadRole kDrainThread;

}  // namespace ringside::threads

#endif  // RINGSIDE_PLUGIN_THREADS_THREAD_ROLE_H
