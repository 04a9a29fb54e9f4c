// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/json/strict_json.h"

#include <string>

#include "test/unit/catch.h"

namespace ringside::load {
namespace {

TEST_CASE("objects are JSON") {
  for (const std::string text :
       {R"({})", R"( { } )", R"({"a":1})", R"({"a":[],"b":{},"c":[[],{}]})",
        "\t{ \"a\" : [ 1 , -0 , 0.5 , 1e9 , -12.5E-3 , 1E+0 ] }\r",
        R"({"":"\"\\\/\b\f\n\r\t\u00e4\uD800","b":[true,false,null]})",
        R"({"a":{"a":{"a":[{"a":"}]"}]}},"a":99999999999999999999999999})"}) {
    INFO(text);
    CHECK(is_json_object(text));
  }
}

TEST_CASE("what is no object, or no JSON") {
  for (const std::string text : {"",
                                 " ",
                                 "[]",
                                 "1",
                                 "\"a\"",
                                 "{",
                                 "}",
                                 "{}}",
                                 "{}{}",
                                 "{},",
                                 R"({"a"})",
                                 R"({"a":})",
                                 R"({"a":1,})",
                                 R"({,"a":1})",
                                 R"({"a":1 "b":2})",
                                 R"({"a":1;"b":2})",
                                 R"({"a"::1})",
                                 R"({"a":"b":"c"})",
                                 R"({a:1})",
                                 R"({1:1})",
                                 R"({"a":[1,]})",
                                 R"({"a":[,1]})",
                                 R"({"a":[1 2]})",
                                 R"({"a":[1})",
                                 R"({"a":[1}])",
                                 R"({"a":{"b":1]})",
                                 R"({"a":01})",
                                 R"({"a":+1})",
                                 R"({"a":.5})",
                                 R"({"a":5.})",
                                 R"({"a":-})",
                                 R"({"a":1e})",
                                 R"({"a":0x1})",
                                 R"({"a":nul})",
                                 R"({"a":True})",
                                 R"({"a":nulll})",
                                 R"({"a":"})",
                                 R"({"a":"\x"})",
                                 R"({"a":"\u12g4"})",
                                 R"({"a":"\u12)",
                                 R"({"a":"\)",
                                 "{\"a\":\"\t\"}",
                                 "{\"a\":1}\x01",
                                 "\xEF\xBB\xBF{}"}) {
    INFO(text);
    CHECK_FALSE(is_json_object(text));
  }
  CHECK_FALSE(is_json_object(std::string("{\"a\":\"\0\"}", 9)));
  CHECK_FALSE(is_json_object(std::string("{}\0", 3)));
}

}  // namespace
}  // namespace ringside::load
