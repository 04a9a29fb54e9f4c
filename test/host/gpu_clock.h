// SPDX-License-Identifier: Apache-2.0
//
// Moves a recording's GPU time stamps into the time of its replay. The recorded GPUs' clock was
// CLOCK_REALTIME, and a replay runs at another pace; here a stamp keeps its place between the
// callbacks.
#ifndef RINGSIDE_TEST_HOST_GPU_CLOCK_H
#define RINGSIDE_TEST_HOST_GPU_CLOCK_H

#include <cstdint>
#include <vector>

#include "test/host/recording.h"

namespace ringside::host {

class GpuClock {
 public:
  explicit GpuClock(const Recording& recording);

  /// The next of the recording's callbacks is about to be made. In order, one at a time.
  void advance(const Callback& callback);

  /// CLOCK_REALTIME of the replay for a stamp of the recording; 0 stays 0, a later time becomes
  /// now.
  std::uint64_t replayed(std::uint64_t stamp) const;

 private:
  struct Pair {
    std::int64_t recorded_ns;
    std::int64_t replayed_ns;
  };

  std::int64_t realtime_minus_monotonic_ns_ = 0;
  std::vector<Pair> callbacks_;
};

}  // namespace ringside::host

#endif  // RINGSIDE_TEST_HOST_GPU_CLOCK_H
