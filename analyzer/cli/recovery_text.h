// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_ANALYZER_CLI_RECOVERY_TEXT_H
#define RINGSIDE_ANALYZER_CLI_RECOVERY_TEXT_H

#include <string>
#include <utility>
#include <vector>

#include "plugin/recover/recover.h"

namespace ringside::cli {

/// A line on what was recovered of a ring directory, which went without an error.
std::string recovery_text(const std::string& directory, const recover::Outcome& outcome);

/// One line on all of them, each with its ring directory: a job that is killed leaves many.
std::string recovery_text(const std::vector<std::pair<std::string, recover::Outcome>>& outcomes);

}  // namespace ringside::cli

#endif  // RINGSIDE_ANALYZER_CLI_RECOVERY_TEXT_H
