// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_TEST_GENERATE_TRUTH_H
#define RINGSIDE_TEST_GENERATE_TRUTH_H

#include <vector>

#include "simulate/clock.h"
#include "simulate/simulation.h"
#include "simulate/trace_file.h"

namespace ringside::simulate {

/// Writes DIR/truth.txt, a JSON object; not named .json, so that it is not taken for a trace:
/// `job_start_ns` (true time, since the base), `hosts` (each `host` and the terms of HostClock),
/// `communicators` (`name`, `comm`, `ranks` of the job by rank in it), `ranks` (each `rank`,
/// `host`, `file` or null, `operations` in it before it was truncated, `dropped`, `last_state` of
/// the last operation that it called, `stuck`: one of its operations never ends), and `faults`
/// (each `kind`, `rank` and what the kind has: see Fault).
void write_truth(const Options& options, const Simulation& simulation,
                 const std::vector<HostClock>& clocks, const std::vector<TraceFile>& files);

}  // namespace ringside::simulate

#endif  // RINGSIDE_TEST_GENERATE_TRUTH_H
