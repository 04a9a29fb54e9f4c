// SPDX-License-Identifier: Apache-2.0
#include "plugin/doors/flat_json.h"

#include <random>
#include <string>

#include "test/unit/catch.h"

using namespace ringside::control;

namespace {

const std::string kRequest =
    R"( {"version":1, "verb" : "start","seconds":-2.5e1,"text":"a\"\\\u00e9\ud83d\ude00\n",)"
    R"("on":true,"off":false,"none":null}  )";

}  // namespace

TEST_CASE("a flat object is read with all kinds of values") {
  const auto members = parse_flat_json(kRequest);
  REQUIRE(members);
  REQUIRE(members->size() == 7);
  CHECK((*members)[0].name == "version");
  CHECK((*members)[0].value == FlatValue(std::int64_t{1}));
  CHECK((*members)[1].value == FlatValue(std::string("start")));
  CHECK((*members)[2].value == FlatValue(-25.0));
  CHECK((*members)[3].value == FlatValue(std::string("a\"\\\xc3\xa9\xf0\x9f\x98\x80\n")));
  CHECK((*members)[4].value == FlatValue(true));
  CHECK((*members)[5].value == FlatValue(false));
  CHECK((*members)[6].value == FlatValue(nullptr));
  CHECK(parse_flat_json("{}")->empty());
}

TEST_CASE("integers that fit are integers, others real numbers, and none is cut") {
  const auto value = [](const std::string& number) {
    const auto members = parse_flat_json("{\"n\":" + number + "}");
    return members ? members->front().value : FlatValue(std::string("refused"));
  };
  CHECK(value("9223372036854775807") == FlatValue(std::int64_t{9223372036854775807}));
  CHECK(value("-9223372036854775808") == FlatValue(std::int64_t{-9223372036854775807 - 1}));
  CHECK(value("9223372036854775808") == FlatValue(9223372036854775808.0));
  CHECK(value("0") == FlatValue(std::int64_t{0}));
  CHECK(value("1.0") == FlatValue(1.0));
  const std::string zeros(400, '0');
  for (const std::string& tiny :
       {std::string("1e-75808"), std::string("-1.5E-99999999999999999999"), "0." + zeros + "1",
        "0." + zeros + "1e10", "1" + zeros + "e-800", "1" + zeros + "e-9223372036854775808",
        "0." + zeros + "1e-9223372036854775808"}) {
    CHECK(value(tiny) == FlatValue(0.0));
  }
  for (const std::string& huge :
       {"1" + zeros, "1" + zeros + "e-10", "0." + zeros + "1e900",
        std::string("1e+99999999999999999999"), "-90" + zeros + "E009223372036854775807"}) {
    CHECK(value(huge) == FlatValue(std::string("refused")));
  }
  for (const char* wrong : {"01", "+1", ".5", "1.", "1e", "1e999", "-", "0x1", "inf", "nan", "--1",
                            "1 2", "tru", "True", "'a'", "[1]", "{}", ""}) {
    CHECK(value(wrong) == FlatValue(std::string("refused")));
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
    CHECK_FALSE(parse_flat_json(wrong));
  }
}

TEST_CASE("no part of a request is taken for one, and damaged bytes do no harm") {
  const std::size_t end = kRequest.rfind('}');
  for (std::size_t size = 0; size <= end; ++size) {
    // On the heap in its exact size, so that a sanitizer sees a step beyond.
    const std::string part = kRequest.substr(0, size);
    CHECK_FALSE(parse_flat_json(std::string_view(part.data(), part.size())));
  }
  std::mt19937 random(1);
  std::size_t taken = 0;
  for (int round = 0; round < 200'000; ++round) {
    std::string text = kRequest.substr(0, random() % (kRequest.size() + 1));
    for (auto changes = random() % 4; changes != 0 && !text.empty(); --changes) {
      text[random() % text.size()] = static_cast<char>(random());
    }
    if (const auto members = parse_flat_json(text)) {
      ++taken;
      for (const FlatMember& member : *members) {
        const auto* const string = std::get_if<std::string>(&member.value);
        REQUIRE((string == nullptr || string->find('\0') == std::string::npos));
      }
    }
  }
  CHECK(taken > 100);
}
