// SPDX-License-Identifier: Apache-2.0
//
// The scenarios that the ranks run, by name.
#pragma once

#include "rank.h"

namespace ranks {

// Throws std::invalid_argument for an unknown name.
using Scenario = void (*)(Rank&);
Scenario scenario_named(const std::string& name);

void run_mix(Rank& rank);

// Grouped broadcasts from all roots, which NCCL batches into one kernel. Not part of the mix: NCCL
// 2.29.7 has a defect here when a profiler asks for kernel events (see README.md).
void run_broadcasts(Rank& rank);

// Calls without a wait between them, each AllReduce of its own size: a rank that leaves one out
// makes all later calls all the same. All ranks together give up the calls that then cannot end.
void run_burst(Rank& rank);

void run_graph(Rank& rank);
void run_sweep(Rank& rank);
void run_train(Rank& rank);
void run_windows(Rank& rank);

// Two communicators, each driven by a thread of its own.
void run_two_threads(Rank& rank);

}  // namespace ranks
