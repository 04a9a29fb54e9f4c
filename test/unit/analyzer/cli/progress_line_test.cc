// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/progress_line.h"

#include "test/unit/catch.h"

using namespace ringside;

TEST_CASE("the line of progress has share and rate, and no share where the whole is not known") {
  CHECK(cli::progress_text("reading", 1 << 20, 4 << 20, 0.5) ==
        "reading: 1 MiB of 4 MiB, 25 %, 0.00 GB/s");
  CHECK(cli::progress_text("merging", 3'000'000'000, 0, 2) == "merging: 2.8 GiB, 1.50 GB/s");
  CHECK(cli::progress_text("matching", 0, 0, 12) == "matching: 12 s");
}
