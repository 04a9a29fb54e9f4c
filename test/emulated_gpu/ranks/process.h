// SPDX-License-Identifier: Apache-2.0
//
// One process of the job, which runs one thread per rank.
#pragma once

#include "board.h"
#include "options.h"

namespace ranks {

// Runs the ranks of this process; returns its exit status.
int run_process(const Options& options, Board& board, int process);

}  // namespace ranks
