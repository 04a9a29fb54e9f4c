// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/communicators/recorded_from_start.h"

#include "test/unit/catch.h"

namespace ringside::match {
namespace {

model::TraceFile trace(std::int64_t window_ns, std::int64_t created_ns) {
  model::TraceFile file;
  file.process.starts_at_load = true;
  file.process.has_events = true;
  file.windows[1].start_ns = window_ns;
  file.contexts[1].created_ns = created_ns;
  file.contexts[2].created_ns = created_ns;
  return file;
}

TEST_CASE("the first window begins before the communicator is created") {
  CHECK(is_recorded_from_start(trace(1000, 1000), 1));
  CHECK(is_recorded_from_start(trace(1000, 1001), 2));
  CHECK_FALSE(is_recorded_from_start(trace(1000, 999), 2));
  CHECK_FALSE(is_recorded_from_start(trace(1000, 1001), 3));
  model::TraceFile file = trace(1000, 2000);
  SECTION("but which it is, is not known") {
    file.windows[2] = file.windows[1];
    file.windows.erase(1);
  }
  SECTION("but when that was is not known") {
    file.contexts[1].created_ns.reset();
  }
  SECTION("but there is none") {
    file.windows.clear();
  }
  CHECK_FALSE(is_recorded_from_start(file, 1));
}

// Up to 36 ms before it were seen: it is not the distance that tells.
TEST_CASE("the first communicator of an older plugin is created before the window that it opens") {
  const std::int64_t distance_ns =
      GENERATE(as<std::int64_t>{}, 1, 6'000, 36'000'000, 60'000'000'000);
  model::TraceFile file = trace(100'000'000'000, 100'000'000'000 - distance_ns);
  CHECK(is_recorded_from_start(file, 1));
  CHECK_FALSE(is_recorded_from_start(file, 2));
  SECTION("recording was off at load") {
    file.process.starts_at_load = false;
  }
  SECTION("recording was off when it was created") {
    file.process.has_events = false;
  }
  SECTION("in a dump, which says what is recorded now") {
    file.process.dump = true;
  }
  SECTION("the first segment is not there") {
    file.process.segment = 2;
  }
  CHECK_FALSE(is_recorded_from_start(file, 1));
}

}  // namespace
}  // namespace ringside::match
