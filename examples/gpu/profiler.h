// SPDX-License-Identifier: Apache-2.0
//
// Ringside's C API as a program uses it that runs with and without the plugin.
#ifndef RINGSIDE_EXAMPLES_GPU_PROFILER_H
#define RINGSIDE_EXAMPLES_GPU_PROFILER_H

#include <ringside/ringside.h>
#include <string>

namespace example {

class Profiler {
 public:
  /// Finds the plugin that NCCL_PROFILER_PLUGIN names. Without it, nothing here does anything.
  Profiler();

  void start();
  void stop();
  void dump(const std::string& path);

  /// One line: where the trace is and what is in it.
  std::string describe() const;

 private:
  bool found_ = false;
  ringside_functions functions_{};
};

}  // namespace example

#endif  // RINGSIDE_EXAMPLES_GPU_PROFILER_H
