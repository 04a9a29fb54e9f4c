// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <exception>
#include <malloc.h>

#include "analyzer/cli/run.h"

int main(int argc, char** argv) {
  // One heap for all threads: what one has loaded is put together, and its memory used again, by
  // another. They allocate seldom.
  mallopt(M_ARENA_MAX, 1);
  try {
    return ringside::cli::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ringside: internal error: %s; please report it\n", error.what());
    return ringside::cli::kExitInternal;
  }
}
