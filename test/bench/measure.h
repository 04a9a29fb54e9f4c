// SPDX-License-Identifier: Apache-2.0
//
// Measures the callbacks of one table. A batch is 64 calls between two readings of the clock; a
// single is one call between two readings. The median is that of batches, where the readings weigh
// little; the tail is that of singles, because the mean of 64 calls hides a slow one. From both the
// median cost of an empty call, measured in the same way through a table of the same form, is taken
// off.
#ifndef RINGSIDE_TEST_BENCH_MEASURE_H
#define RINGSIDE_TEST_BENCH_MEASURE_H

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "test/bench/descriptors.h"
#include "test/bench/profiler_table.h"

namespace ringside::bench {

inline constexpr int kBatch = 64;

enum class Call { kStart, kState, kStop };

/// Costs of one kind of callback in clock ticks, one element a batch (per call) or a single call.
struct Samples {
  std::vector<double> batch;
  std::vector<double> single;
};

/// The plugin that is measured, with the context of its calls.
struct Target {
  const ProfilerTable* table;
  void* context;
  int version;
  /// Called with no measurement under way: lets a plugin empty its buffers.
  std::function<void()> rest;
};

/// Measures start, state (where there is one) and stop of a kind: `calls` of each for batches and
/// as many for singles, on `threads` threads at once.
struct KindSamples {
  Samples start;
  Samples state;
  Samples stop;
};
KindSamples measure_kind(const Target& target, const Kind& kind, int threads, int calls);

/// Cost of one reading of the clock, per reading, over batches and as singles.
Samples measure_clock(int calls);

/// A table of callbacks that do nothing.
const ProfilerTable& empty_table();

/// The value that `share` of the samples do not exceed; reorders them.
double percentile(std::vector<double>& samples, double share);

/// Nanoseconds of a tick, against CLOCK_MONOTONIC.
double ns_per_tick();

}  // namespace ringside::bench

#endif  // RINGSIDE_TEST_BENCH_MEASURE_H
