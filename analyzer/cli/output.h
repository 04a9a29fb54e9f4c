// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_ANALYZER_CLI_OUTPUT_H
#define RINGSIDE_ANALYZER_CLI_OUTPUT_H

#include <string>
#include <string_view>
#include <vector>

#include "analyzer/model/problem.h"

namespace ringside::cli {

/// Writes to stdout; false, and a message on stderr, if that fails (a full disk, a closed pipe).
bool print(std::string_view text);

/// Writes notes and what could not be read to stderr, a line each.
void print_problems(const model::Problems& problems, const std::vector<std::string>& notes);

}  // namespace ringside::cli

#endif  // RINGSIDE_ANALYZER_CLI_OUTPUT_H
