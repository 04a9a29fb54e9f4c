// SPDX-License-Identifier: Apache-2.0
//
// When the GPU was in a call, by CUDA events: what a profiler's times can be held against.
#ifndef RINGSIDE_EXAMPLES_GPU_CALL_TIMES_H
#define RINGSIDE_EXAMPLES_GPU_CALL_TIMES_H

#include <cstddef>
#include <cstdint>
#include <cuda_runtime_api.h>
#include <fstream>
#include <string>
#include <vector>

namespace example {

/// Writes one line of JSON for each call. Events have no time of their own, only distances; so each
/// series of calls begins with an event on the idle stream, between two readings of the host's
/// clock, and all others are placed by their distance to it.
class CallTimes {
 public:
  /// An empty path: nothing is measured.
  CallTimes(const std::string& path, cudaStream_t stream);
  ~CallTimes();
  CallTimes(const CallTimes&) = delete;
  CallTimes& operator=(const CallTimes&) = delete;

  /// The stream is idle, and so many calls follow.
  void begin_series(std::size_t calls);
  void before_call();
  void after_call();

  /// The stream is idle again; writes the lines.
  void end_series(const char* function, std::size_t bytes);

 private:
  struct Call {
    cudaEvent_t begin = nullptr;
    cudaEvent_t end = nullptr;
  };

  struct Anchor {
    cudaEvent_t event = nullptr;
    std::int64_t earliest_ns = 0;  // CLOCK_MONOTONIC
    std::int64_t latest_ns = 0;
  };

  void place(Anchor& anchor) const;
  std::int64_t between(cudaEvent_t from, cudaEvent_t to) const;

  const cudaStream_t stream_;
  std::ofstream file_;
  Anchor anchor_;
  std::vector<Call> calls_;
  std::size_t begun_ = 0;
};

}  // namespace example

#endif  // RINGSIDE_EXAMPLES_GPU_CALL_TIMES_H
