// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_ANALYZER_CLI_RUN_SUMMARY_H
#define RINGSIDE_ANALYZER_CLI_RUN_SUMMARY_H

#include <cstddef>
#include <string>
#include <vector>

namespace ringside::cli {

/// What `ringside run` says after a job: what is wrong, and the rows of each communicator that took
/// the most time, `top` at most (0: all). "", after a message on stderr, if no trace can be read.
/// Its commands name `directory`. `has_next`: it ends with the command to go on with.
std::string run_summary(const std::vector<std::string>& traces, std::size_t top,
                        const std::string& directory, std::size_t columns, bool has_next);

}  // namespace ringside::cli

#endif  // RINGSIDE_ANALYZER_CLI_RUN_SUMMARY_H
