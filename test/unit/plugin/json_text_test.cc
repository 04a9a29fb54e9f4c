// SPDX-License-Identifier: Apache-2.0
#include "plugin/export/json_text.h"

#include "test/unit/catch.h"

using ringside::exporting::JsonText;

namespace {

std::string quoted(std::string_view text) {
  JsonText json;
  return json.string(text).text();
}

}  // namespace

TEST_CASE("strings are escaped, and what is not UTF-8 is replaced") {
  CHECK(quoted("plain") == "\"plain\"");
  CHECK(quoted("a\"b\\c") == "\"a\\\"b\\\\c\"");
  CHECK(quoted(std::string_view("\n\0\x1f", 3)) == "\"\\u000a\\u0000\\u001f\"");
  CHECK(quoted("r\xc3\xa4nge \xe2\x82\xac \xf0\x9f\x98\x80") ==
        "\"r\xc3\xa4nge \xe2\x82\xac \xf0\x9f\x98\x80\"");
  CHECK(quoted("\xff"
               "a") == "\"\\ufffda\"");
  CHECK(quoted("cut \xe2\x82") == "\"cut \\ufffd\\ufffd\"");
  CHECK(quoted("\xc0\xaf") == "\"\\ufffd\\ufffd\"");             // overlong
  CHECK(quoted("\xed\xa0\x80") == "\"\\ufffd\\ufffd\\ufffd\"");  // surrogate
}

TEST_CASE("microseconds have three decimals, from integer nanoseconds") {
  const auto text = [](std::int64_t ns) {
    JsonText json;
    return json.microseconds(ns).text();
  };
  CHECK(text(0) == "0.000");
  CHECK(text(7) == "0.007");
  CHECK(text(1'000'000) == "1000.000");
  CHECK(text(7'889'237'999'999'999) == "7889237999999.999");
  CHECK(text(-5) == "0.000");
}

TEST_CASE("numbers that do not fit into a double are hex strings") {
  JsonText json;
  CHECK(json.hex(0xFFFFFFFFFFFFFFFFULL).text() == "\"0xffffffffffffffff\"");
}
