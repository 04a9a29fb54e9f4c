// SPDX-License-Identifier: Apache-2.0
//
// Times collectives over a range of sizes, as nccl-tests does.
#ifndef RINGSIDE_EXAMPLES_GPU_BENCH_H
#define RINGSIDE_EXAMPLES_GPU_BENCH_H

#include "examples/gpu/communicator.h"
#include "examples/gpu/options.h"
#include "examples/gpu/profiler.h"

namespace example {

/// Throws std::invalid_argument for a collective that is not known, before any is run.
void run_bench(const Options& options, const Communicator& communicator, Profiler& profiler);

}  // namespace example

#endif  // RINGSIDE_EXAMPLES_GPU_BENCH_H
