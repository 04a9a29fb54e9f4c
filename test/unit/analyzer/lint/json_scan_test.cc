// SPDX-License-Identifier: Apache-2.0
#include "analyzer/lint/json_scan.h"

#include "test/unit/catch.h"

namespace ringside::lint {
namespace {

TEST_CASE("the scan finds how numbers are written") {
  const JsonScan scan =
      scan_json(R"({"name":"ts\":1","args":{"ts":7},"ts":1.500,"dur":-2,"x":[true,null]})");
  CHECK(scan.ts == "1.500");
  CHECK(scan.dur == "-2");
  CHECK(scan.big_integer.empty());
  CHECK(scan.bare_word.empty());
  CHECK_FALSE(scan.has_more);
}

TEST_CASE("the scan finds what JSON or doubles cannot hold") {
  CHECK(scan_json(R"({"a":9007199254740992})").big_integer.empty());
  CHECK(scan_json(R"({"a":[-9007199254740993]})").big_integer == "-9007199254740993");
  CHECK(scan_json(R"({"a":99999999999999999999999})").big_integer == "99999999999999999999999");
  CHECK(scan_json(R"({"a":"9007199254740993","b":9007199254740993.5})").big_integer.empty());
  CHECK(scan_json(R"({"a":NaN})").bare_word == "NaN");
  CHECK(scan_json(R"({"a":-Infinity})").bare_word == "-Infinity");
  CHECK(scan_json("{},{}").has_more);
}

TEST_CASE("the scan ends whatever the text") {
  for (const char* const text : {"", "\"", "\"\\", "{\"a", "}}}]", "-", ":::", "{\"ts\":"}) {
    scan_json(text);
  }
  SUCCEED();
}

TEST_CASE("Perfetto rounds a double of microseconds") {
  CHECK(perfetto_ns("12.345") == 12345);
  CHECK(perfetto_ns("1e300") == 9'000'000'000'000'000'000);
  // Kineto's base keeps times below 2^43 us, where doubles still tell nanoseconds apart.
  CHECK(perfetto_ns("7889237999999.999") == 7889237999999999);
  CHECK(perfetto_ns("9504000000000.001") == 9504000000000002);
}

}  // namespace
}  // namespace ringside::lint
