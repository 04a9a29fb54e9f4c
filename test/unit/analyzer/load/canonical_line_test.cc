// SPDX-License-Identifier: Apache-2.0
//
// The tests in test/load show that every line is read as simdjson reads it. This one shows that the
// quick way is taken at all.
#include "analyzer/load/json/canonical_line.h"

#include <string>
#include <utility>
#include <vector>

#include "analyzer/load/json/key_order.h"
#include "test/unit/catch.h"

namespace ringside::load {
namespace {

constexpr std::array<std::string_view, 3> kKeys = {"op", "peer", "in_flight"};

// Notes what it is given.
struct Taker {
  struct Reader {
    KeyPlace find_key(const char* at) { return keys.find_at(at); }
    simdjson::error_code take(std::size_t key, CanonicalValue& value) {
      taken.emplace_back(key, value.type == CanonicalValue::Type::kNumber ? value.number : 0);
      return simdjson::SUCCESS;
    }

    KeyOrder<3> keys{kKeys};
    std::vector<std::pair<std::size_t, std::uint64_t>> taken;
  };

  bool takes(const Event& event) const { return event.phase == "b"; }
  template <typename Visit>
  bool give(Visit visit) {
    return visit(reader);
  }

  Reader reader;
};

bool is_canonical(const std::string& line, Event& event, Taker& taker) {
  // Behind the line there is what would go on with it.
  static std::string text;
  text = line + "\n\":1,\"ph\":\"b\",\"args\":{\"op\":1}}" + std::string(LineReader::kPadding, '"');
  return parse_canonical(std::string_view(text).substr(0, line.size()), event, taker);
}

bool is_canonical(const std::string& line) {
  Event event;
  Taker taker;
  return is_canonical(line, event, taker);
}

constexpr const char* kStart = R"({"ph":"b","cat":"op","id2":{"local":"0x1"},"pid":100,"tid":7)";

TEST_CASE("lines as the plugin writes them are read without simdjson") {
  Event event;
  Taker taker;
  REQUIRE(
      is_canonical(std::string(kStart) +
                       R"(,"ts":1234.567,"name":"AllReduce","bind_id":"0x7","flow_in":true,)"
                       R"("args":{"op":12,"else":"x","peer":345678901234567,"in_flight":true}})",
                   event, taker));
  CHECK(event.phase == "b");
  CHECK(event.category == "op");
  CHECK(event.name == "AllReduce");
  CHECK(event.ts_ns == 1234567);
  CHECK(event.arguments_taken);
  const std::vector<std::pair<std::size_t, std::uint64_t>> expected = {
      {0, 12}, {3, 0}, {1, 345678901234567}, {2, 0}};
  CHECK(taker.reader.taken == expected);
  CHECK(is_canonical(std::string(kStart) + R"(,"ts":0.000,"name":""})"));
  for (const char* const category : {"proxy", "step"}) {
    CHECK(is_canonical(std::string(R"({"ph":"e","cat":")") + category +
                       R"(","id2":{"local":"0xff"},"pid":1,"tid":1,"name":"send","ts":2.125})"));
  }
}

TEST_CASE("other lines are left to simdjson") {
  const std::string start = kStart;
  for (const std::string& line :
       {std::string(),
        std::string("]"),
        std::string("{"),
        std::string(R"({"ph":")"),
        std::string(R"({"ph":"M","pid":1,"name":"x","args":{}})"),
        start,
        start + ",",
        start + "}}",
        start + "},",
        start + " }",
        start + R"(,"ts":1.5})",
        start + R"(,"ts":1})",
        start + R"(,"ts":01.500})",
        start + R"(,"ts":1.5000})",
        start + R"(,"ts":-1.500})",
        start + R"(,"name":"a\nb"})",
        start + ",\"name\":\"a\tb\"}",
        start + ",\"name\":\"\xC3\xA9\"}",
        start + R"(,"name":"open)",
        start + R"(,"name":5})",
        start + R"(,"ph":"b"})",
        start + R"(,"cat":"op"})",
        start + R"(,"x":null})",
        start + R"(,"x":-1})",
        start + R"(,"x":1e3})",
        start + R"(,"x":01})",
        start + R"(,"x":1234567890123456})",
        start + R"(,"x":[]})",
        start + R"(,"x":{}})",
        start + R"(,"x":truth})",
        start + R"(,"x"})",
        start + R"(,"args":{}})",
        start + R"(,"args":{"op":1)",
        start + R"(,"args":{"op":1}})" + "}",
        start + R"(,"args":{"op":1,}})",
        start + R"(,"args":{"op":1},"args":{"op":1}})",
        start + R"(,"args":{"op":[1]}})",
        start + R"(,"args":{op:1}})",
        std::string(R"({"ph":"e","cat":"op","id2":{"local":"0x1"},"pid":1,"tid":1,"ts":1.000})"),
        std::string(
            R"({"ph":"b","cat":"gpu","id2":{"local":"0x1"},"pid":1,"tid":1,"ts":1.000})")}) {
    INFO(line);
    CHECK_FALSE(is_canonical(line));
  }
}

}  // namespace
}  // namespace ringside::load
