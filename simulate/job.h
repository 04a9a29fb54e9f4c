// SPDX-License-Identifier: Apache-2.0
//
// A simulated job whose clocks, faults and losses are known, and its traces.
#ifndef RINGSIDE_SIMULATE_JOB_H
#define RINGSIDE_SIMULATE_JOB_H

#include <functional>
#include <vector>

#include "simulate/clock.h"
#include "simulate/options.h"
#include "simulate/simulation.h"
#include "simulate/trace_file.h"

namespace ringside::simulate {

using Done = std::function<void(const Simulation&, const std::vector<HostClock>&,
                                const std::vector<TraceFile>&)>;

/// Runs the job and writes a trace for each process into its directory, which must be there. The
/// same options give the same bytes. `done` gets what is known of the job, after its end.
void write_job(const Options& options, const Done& done = {});

}  // namespace ringside::simulate

#endif  // RINGSIDE_SIMULATE_JOB_H
