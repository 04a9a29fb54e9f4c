// SPDX-License-Identifier: Apache-2.0
//
// A profiler plugin, loaded and called as NCCL does: one class for all versions of the interface.
#ifndef RINGSIDE_TEST_HOST_PROFILER_PLUGIN_H
#define RINGSIDE_TEST_HOST_PROFILER_PLUGIN_H

#include <memory>
#include <string>

#include "test/host/recording.h"

namespace ringside::host {

/// These values replace a recording's numbers in a descriptor.
struct Pointers {
  void* parent = nullptr;
  void* parent_group = nullptr;
  int pid = 0;
};

class ProfilerPlugin {
 public:
  virtual ~ProfilerPlugin() = default;

  // Each returns what the plugin returned; 0 is success.
  virtual int init(const Callback& callback, void** context, int* mask) const = 0;
  virtual int start(const Callback& callback, const Pointers& pointers, void* context,
                    void** handle) const = 0;
  virtual int stop(void* handle) const = 0;
  virtual int state(const Callback& callback, void* handle) const = 0;
  virtual int finalize(void* context) const = 0;

  virtual int abi() const = 0;
};

/// Looks ncclProfiler_v7 down to v1 up in a loaded library, or only that of abi if it is not 0.
/// nullptr: the library has none.
std::unique_ptr<ProfilerPlugin> find_profiler(void* library, int abi);

}  // namespace ringside::host

#endif  // RINGSIDE_TEST_HOST_PROFILER_PLUGIN_H
