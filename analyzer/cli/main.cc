// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <exception>

#include "analyzer/cli/run.h"

int main(int argc, char** argv) {
  try {
    return ringside::cli::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ringside: internal error: %s; please report it\n", error.what());
    return ringside::cli::kExitInternal;
  }
}
