// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_SIMULATE_LATENESS_H
#define RINGSIDE_SIMULATE_LATENESS_H

#include <cstdint>
#include <vector>

#include "simulate/options.h"
#include "simulate/random.h"

namespace ringside::simulate {

/// How much longer than usual a rank computes in an iteration. It has random numbers of its own, so
/// that a job without any of this stays as it is.
class Lateness {
 public:
  explicit Lateness(const Options& options);

  /// Asked once for each rank and iteration, in their order.
  std::int64_t extra_ns(int rank, std::int64_t iteration);

 private:
  double normal();

  const Options& options_;
  Random random_;
  std::vector<double> slowness_;  // by rank: what is left of its earlier slowness
};

}  // namespace ringside::simulate

#endif  // RINGSIDE_SIMULATE_LATENESS_H
