// SPDX-License-Identifier: Apache-2.0
//
// Annotations that clang checks with -Wthread-safety: which mutex guards a member, and which thread
// alone may call a function. Other compilers ignore them.
#ifndef RINGSIDE_PLUGIN_THREADS_ANNOTATIONS_H
#define RINGSIDE_PLUGIN_THREADS_ANNOTATIONS_H

#if defined(__clang__)
#define RINGSIDE_THREAD_ATTRIBUTE(attribute) __attribute__((attribute))
#else
#define RINGSIDE_THREAD_ATTRIBUTE(attribute)
#endif

/// The class is a capability: a mutex, or a role of a thread.
#define RINGSIDE_CAPABILITY(kind) RINGSIDE_THREAD_ATTRIBUTE(capability(kind))
/// An object of the class holds a capability as long as it lives.
#define RINGSIDE_SCOPED_CAPABILITY RINGSIDE_THREAD_ATTRIBUTE(scoped_lockable)

/// The member may be used only by a thread that holds the capability.
#define RINGSIDE_GUARDED_BY(capability) RINGSIDE_THREAD_ATTRIBUTE(guarded_by(capability))
/// The function may be called only by a thread that holds the capability.
#define RINGSIDE_REQUIRES(...) RINGSIDE_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
/// The function takes the capability, so its caller must not hold it.
#define RINGSIDE_EXCLUDES(...) RINGSIDE_THREAD_ATTRIBUTE(locks_excluded(__VA_ARGS__))

#define RINGSIDE_ACQUIRE(...) RINGSIDE_THREAD_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define RINGSIDE_RELEASE(...) RINGSIDE_THREAD_ATTRIBUTE(release_capability(__VA_ARGS__))
/// After the call, clang assumes that the capability is held.
#define RINGSIDE_ASSERT_CAPABILITY(...) RINGSIDE_THREAD_ATTRIBUTE(assert_capability(__VA_ARGS__))

namespace ringside::threads {

/// Functions and members that only one thread may use. A role is no lock: it costs nothing at run
/// time. A thread takes its role where it begins, and clang checks that functions and members of
/// that role are used by functions of that role only.
class RINGSIDE_CAPABILITY("role") ThreadRole {
 public:
  /// The calling thread has this role. Called where the thread begins, or where a comment says why
  /// no thread has the role at that moment.
  void assume() const RINGSIDE_ASSERT_CAPABILITY(this) {}
};

/// The thread that reads the rings and writes the trace.
inline constexpr ThreadRole kDrainThread;

}  // namespace ringside::threads

#endif  // RINGSIDE_PLUGIN_THREADS_ANNOTATIONS_H
