// SPDX-License-Identifier: Apache-2.0
//
// The variables that tell NCCL about the emulated machines.
#pragma once

#include "options.h"

namespace ranks {

// Sets the environment that all ranks share, and writes the topology file it refers to. NCCL_*
// variables that are set already stay as they are, so that a caller can override each choice.
void prepare_environment(const Options& options);

// Sets what differs from process to process.
void set_process_environment(const Options& options, int process);

}  // namespace ranks
