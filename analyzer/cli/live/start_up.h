// SPDX-License-Identifier: Apache-2.0
//
// Ranks of a job that have made no communicator yet.
#ifndef RINGSIDE_ANALYZER_CLI_LIVE_START_UP_H
#define RINGSIDE_ANALYZER_CLI_LIVE_START_UP_H

#include <cstddef>
#include <string>
#include <vector>

#include "analyzer/cli/live/live_evidence.h"
#include "live/choose.h"
#include "live/hosts/starting.h"

namespace ringside::cli {

/// Returns those of the jobs that are meant, on the hosts that are asked.
std::vector<live::StartingRank> starting_ranks_of(const live::Choice& choice);

/// "7 of 8 processes have a communicator; rank 5 (pid 4711, node2) has been in start-up for 93 s."
/// `ready`: processes that have one.
std::string start_up_sentence(const std::vector<live::StartingRank>& ranks, std::size_t ready);

/// Says that on standard error, if there are any; `command` is the word behind ringside. `replies`:
/// of processes that are asked. Returns the ranks.
std::vector<live::StartingRank> say_start_up(const live::Choice& choice,
                                             const std::vector<live::Reply>& replies,
                                             const char* command);

/// Returns those of 16 of them on each host at most. A sentence behind them says who is in no call
/// that waits for others.
StacksToTake stacks_of_start_up(const live::Choice& choice,
                                const std::vector<live::StartingRank>& ranks);

}  // namespace ringside::cli

#endif  // RINGSIDE_ANALYZER_CLI_LIVE_START_UP_H
