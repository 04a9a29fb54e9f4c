// SPDX-License-Identifier: Apache-2.0
#include "live/watch/moment.h"

#include <cstdlib>
#include <ctime>

#include "test/unit/catch.h"

using namespace ringside::live;

namespace {

constexpr std::int64_t kNow_ns = 1'790'944'496'000'000'000;  // 2026-10-02T12:34:56Z

std::string in_utc(std::string_view text, std::int64_t now_ns = kNow_ns) {
  std::string error;
  const auto moment_ns = parse_moment(text, now_ns, error);
  return moment_ns ? moment_text(*moment_ns) : error;
}

}  // namespace

TEST_CASE("moments from now on, of the day, and with a date") {
  setenv("TZ", "XXX-2", 1);  // two hours east of Greenwich
  tzset();
  CHECK(in_utc("+1.5") == "2026-10-02T12:34:57.500Z");
  CHECK(in_utc("12:40:00Z") == "2026-10-02T12:40:00.000Z");
  CHECK(in_utc("14:40:00.25") == "2026-10-02T12:40:00.250Z");
  CHECK(in_utc("00:10:00Z") == "2026-10-03T00:10:00.000Z");
  CHECK(in_utc("2026-10-02T14:40:00+02:00") == "2026-10-02T12:40:00.000Z");
  CHECK(in_utc("2026-10-02 08:10:00-04:30") == "2026-10-02T12:40:00.000Z");
  CHECK(in_utc("2026-10-02T12:34:56.000000001Z") == "2026-10-02T12:34:56.000Z");
  const std::int64_t evening_ns = kNow_ns + 32'400'000'000'000;  // 23:34:56 there
  CHECK(in_utc("00:10:00", evening_ns) == "2026-10-02T22:10:00.000Z");
  unsetenv("TZ");
  tzset();
}

TEST_CASE("what has passed, is far ahead or is no moment is refused") {
  CHECK(in_utc("12:34:56Z") == "has passed");
  CHECK(in_utc("12:00:00Z") == "has passed");
  CHECK(in_utc("+0") == "has passed");
  CHECK(in_utc("2001-01-01T00:00:00Z") == "has passed");
  CHECK(in_utc("+2592001") == "is more than 30 days ahead");
  CHECK(in_utc("2199-01-01T00:00:00Z") == "is more than 30 days ahead");
  for (const char* wrong : {"",
                            "+",
                            "+x",
                            "+-1",
                            "+1e99",
                            "+inf",
                            "+nan",
                            "12:34",
                            "12:34:5",
                            "24:00:00",
                            "12:60:00",
                            "12:00:60",
                            "12:00:00.",
                            "12:00:00X",
                            "2026-02-30T00:00:00Z",
                            "2026-13-01T00:00:00Z",
                            "2026-10-02T12:40:00",
                            "2026-10-02T12:40:00+2",
                            "9999-10-02T12:40:00Z",
                            "tomorrow"}) {
    INFO(wrong);
    CHECK(in_utc(wrong).starts_with("must be +SECONDS"));
  }
}
