// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_ANALYZER_CLI_RUN_H
#define RINGSIDE_ANALYZER_CLI_RUN_H

#include "analyzer/cli/exit_status.h"

namespace ringside::cli {

/// The whole program: parses the command line and runs what it asks for.
ExitStatus run(int argc, char** argv);

}  // namespace ringside::cli

#endif  // RINGSIDE_ANALYZER_CLI_RUN_H
