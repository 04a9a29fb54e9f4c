// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_TEST_GENERATE_PARSE_OPTIONS_H
#define RINGSIDE_TEST_GENERATE_PARSE_OPTIONS_H

#include <optional>

#include "simulate/options.h"

namespace ringside::simulate {

/// Reads the command line. An exit status if the program is to end at once; else nothing.
std::optional<int> parse_options(int argc, char** argv, Options& options);

}  // namespace ringside::simulate

#endif  // RINGSIDE_TEST_GENERATE_PARSE_OPTIONS_H
