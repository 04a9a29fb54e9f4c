// SPDX-License-Identifier: Apache-2.0
#include "plugin/export/lines/json_text.h"

#include <limits>
#include <string>

#include "test/unit/catch.h"

using ringside::exporting::JsonText;

namespace {

std::string quoted(std::string_view text) {
  JsonText json;
  return std::string(json.string(text).text());
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
    return std::string(json.microseconds(ns).text());
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

TEST_CASE("members with nothing to say are left out, and entries have commas between them") {
  JsonText json;
  json.raw("{").next().raw("\"a\":[").next().integer(1).next().integer(2).raw("]");
  json.member_unless(-1, "b", -1).member_unless(-1, "c", 0).member_text("d", "");
  json.member_text("e", "x").member_if(false, "f").member_if(true, "g");
  json.member_known("h", std::optional<int>()).member_known("i", std::optional<int>(3));
  json.member_bool("j", false).next().raw("\"k\":{").next().raw("}}");
  CHECK(json.text() == R"({"a":[1,2],"c":0,"e":"x","g":true,"i":3,"j":false,"k":{}})");
}

TEST_CASE("a text grows as far as it must, and begins anew without what was") {
  JsonText json;
  std::string expected;
  for (int i = 0; i < 3'000; ++i) {
    json.member("k", i).member_bool("yes", true);
    expected += ",\"k\":" + std::to_string(i) + ",\"yes\":true";
  }
  const std::string_view long_text(expected);
  JsonText quoted_text;
  quoted_text.string(long_text.substr(0, 1)).string(std::string(20'000, 'x'));
  CHECK(json.text() == expected);
  CHECK(quoted_text.text() == "\",\"\"" + std::string(20'000, 'x') + "\"");
  json.clear();
  json.fixed(std::numeric_limits<double>::max()).integer(std::numeric_limits<std::int64_t>::min());
  CHECK(json.text().size() == 309 + 4 + 20);
}
