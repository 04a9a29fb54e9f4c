// SPDX-License-Identifier: Apache-2.0
#include "plugin/doors/control_request.h"

#include <random>
#include <string>

#include "test/unit/catch.h"

using namespace ringside::doors;

namespace {

const std::string kRequest =
    R"( {"version":1, "verb" : "start","seconds":-2.5e1,"text":"a\"\\\u00e9\ud83d\ude00\n",)"
    R"("on":true,"off":false,"none":null}  )";

}  // namespace

TEST_CASE("a flat object is read with all kinds of values, in their order") {
  const auto request = ControlRequest::parse(kRequest);
  REQUIRE(request);
  const nlohmann::ordered_json wanted = {
      {"version", 1},     {"verb", "start"},
      {"seconds", -25.0}, {"text", "a\"\\\xc3\xa9\xf0\x9f\x98\x80\n"},
      {"on", true},       {"off", false},
      {"none", nullptr}};
  CHECK(request->object() == wanted);
  CHECK(request->object().begin().key() == "version");
  CHECK(request->has_version(1));
  CHECK_FALSE(request->has_version(2));
  CHECK(request->verb() == "start");
  CHECK(ControlRequest::parse("{}")->object().empty());
  CHECK(ControlRequest::parse("{}")->verb().empty());
  CHECK_FALSE(ControlRequest::parse("{\"version\":1.0}")->has_version(1));
}

TEST_CASE("integers that fit are integers, others real numbers, and none is cut") {
  const auto value = [](const std::string& number) {
    const auto request = ControlRequest::parse("{\"n\":" + number + "}");
    return request ? request->object().front() : nlohmann::ordered_json("refused");
  };
  const auto integer = [](const std::string& number) {
    auto request = ControlRequest::parse("{\"n\":" + number + "}");
    const std::int64_t read = request->integer("n");
    return request->error().empty() ? read : -1;
  };
  CHECK(integer("9223372036854775807") == 9223372036854775807);
  for (const char* wrong : {"9223372036854775808", "18446744073709551615", "1e3", "0", "-1", "1.0",
                            "\"1\"", "null", "true"}) {
    INFO(wrong);
    CHECK(integer(wrong) == -1);
  }
  CHECK(value("9223372036854775807") == 9223372036854775807);
  CHECK(value("-9223372036854775808") == -9223372036854775807 - 1);
  CHECK(value("9223372036854775808") == 9223372036854775808.0);
  CHECK(value("0") == 0);
  CHECK(value("1.0") == 1.0);
  const std::string zeros(400, '0');
  for (const std::string& tiny :
       {std::string("1e-75808"), std::string("-1.5E-99999999999999999999"), "0." + zeros + "1",
        "0." + zeros + "1e10", "1" + zeros + "e-800", "1" + zeros + "e-9223372036854775808",
        "0." + zeros + "1e-9223372036854775808"}) {
    CHECK(value(tiny) == 0.0);
  }
  for (const std::string& huge :
       {"1" + zeros, "1" + zeros + "e-10", "0." + zeros + "1e900",
        std::string("1e+99999999999999999999"), "-90" + zeros + "E009223372036854775807"}) {
    CHECK(value(huge) == "refused");
  }
  for (const char* wrong : {"01", "+1", ".5", "1.", "1e", "1e999", "-", "0x1", "inf", "nan", "--1",
                            "1 2", "tru", "True", "'a'", "[1]", "{}", ""}) {
    CHECK(value(wrong) == "refused");
  }
}

TEST_CASE("what is no flat object alone is refused") {
  for (const char* wrong : {"",
                            " ",
                            "{",
                            "}",
                            "[]",
                            "1",
                            "\"a\"",
                            "{\"a\"}",
                            "{\"a\":}",
                            "{\"a\":1,}",
                            "{a:1}",
                            "{\"a\":1}x",
                            "{\"a\":1 \"b\":2}",
                            "{\"a\":1,\"a\":2}",
                            "{\"a\":\"\\u0000\"}",
                            "{\"\\u0000\":1}",
                            "{\"a\":\"\xe9\"}",
                            "\xef\xbb\xbf{}",
                            "{\"a\":[]}",
                            "{\"a\":{\"b\":[{}]}}",
                            "{\"a\":\"\\ud800\"}",
                            "{\"a\":\"\\udc00\"}",
                            "{\"a\":\"\\ud800\\u0041\"}",
                            "{\"a\":\"\\x41\"}",
                            "{\"a\":\"\\u12\"}",
                            "{\"a\":\"\t\"}",
                            "{\"a\":\"b}",
                            "{\"a\":{}}",
                            "{\"a\":-}",
                            "{,}"}) {
    INFO(wrong);
    CHECK_FALSE(ControlRequest::parse(wrong));
  }
}

TEST_CASE("no part of a request is taken for one, and damaged bytes do no harm") {
  const std::size_t end = kRequest.rfind('}');
  for (std::size_t size = 0; size <= end; ++size) {
    // On the heap in its exact size, so that a sanitizer sees a step beyond.
    const std::string part = kRequest.substr(0, size);
    CHECK_FALSE(ControlRequest::parse(std::string_view(part.data(), part.size())));
  }
  std::mt19937 random(1);
  std::size_t taken = 0;
  for (int round = 0; round < 200'000; ++round) {
    std::string text = kRequest.substr(0, random() % (kRequest.size() + 1));
    for (auto changes = random() % 4; changes != 0 && !text.empty(); --changes) {
      text[random() % text.size()] = static_cast<char>(random());
    }
    if (const auto request = ControlRequest::parse(text)) {
      ++taken;
      for (const auto& value : request->object()) {
        REQUIRE((!value.is_string() ||
                 value.get_ref<const std::string&>().find('\0') == std::string::npos));
      }
    }
  }
  CHECK(taken > 100);
}

TEST_CASE("nothing behind a NUL is passed over") {
  CHECK_FALSE(ControlRequest::parse(std::string_view("{}\0{", 4)));
}

TEST_CASE("members that are wrong are named, the first of them only") {
  const auto error = [](const char* line, const auto& read) {
    auto request = ControlRequest::parse(line);
    REQUIRE(request);
    read(*request);
    return request->error();
  };
  const auto read_all = [](ControlRequest& request) {
    request.allow({"text", "operations", "seconds", "at_realtime_ns"});
    request.text("text");
    request.integer("operations");
    request.duration_ns();
    request.moment_ns();
  };
  CHECK(error(R"({"version":1,"verb":"start"})", read_all).empty());
  CHECK(error(R"({"text":"a","operations":2,"seconds":0.5})", read_all).empty());
  CHECK(error(R"({"speed":1,"text":""})", read_all) == "this verb has no speed");
  CHECK(error(R"({"text":""})", read_all) == "text must be a text");
  CHECK(error(R"({"text":1})", read_all) == "text must be a text");
  CHECK(error(R"({"operations":0})", read_all) == "operations must be an integer from 1 on");
  for (const char* line : {R"({"seconds":0})", R"({"seconds":"1"})", R"({"seconds":2592001})",
                           R"({"seconds":-1.5})", R"({"seconds":true})"}) {
    CHECK(error(line, read_all) == "seconds must be from 0.001 to 2592000");
  }
  for (const char* line :
       {R"({"at_realtime_ns":1})", R"({"at_realtime_ns":9223372036854775807})"}) {
    CHECK(error(line, read_all).starts_with("at_realtime_ns has passed"));
  }
  auto request = ControlRequest::parse(R"({"seconds":1.5})");
  CHECK(request->duration_ns() == 1'500'000'000);
}
