// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/json/field_reader.h"

#include <string>
#include <string_view>

#include "analyzer/load/json/canonical_line.h"
#include "analyzer/load/json/event_parser.h"
#include "analyzer/load/source/line_reader.h"
#include "test/unit/catch.h"

namespace ringside::load {

enum class Side : std::uint8_t { kLeft, kRight };
template <>
inline constexpr std::array<std::pair<std::string_view, Side>, 2> kWordsOf<Side> = {
    {{"left", Side::kLeft}, {"right", Side::kRight}}};

namespace {

struct Row {
  std::uint32_t number = 0;
  std::optional<std::int64_t> time_ns;
  bool is_late = false;
  Side side = Side::kLeft;
  model::NameId function = model::kNoName;
  std::string_view comm;
};

constexpr std::tuple kFields{Field{"number", &Row::number, Need::kRequired},
                             Field{"time_ns", &Row::time_ns},
                             UnreadField{"unread"},
                             Field{"late", &Row::is_late},
                             NameField{"func", &Row::function},
                             Field{"side", &Row::side, Need::kRequired},
                             Field{"comm", &Row::comm}};
using Reader = FieldReader<Row, kFields>;

// The args of a line, read in the canonical pass or by simdjson. False if a value does not fit.
bool read(const std::string& arguments, bool is_canonical, Reader& reader) {
  static std::string text;  // the row has views of it
  text = "{\"args\":" + arguments + "}\n" + std::string(LineReader::kPadding, ' ');
  reader.begin();
  if (is_canonical) {
    CanonicalCursor cursor(text.data() + std::string_view("{\"args\":").size());
    return take_canonical_arguments(cursor, reader);
  }
  static EventParser parser;
  Event event;
  return !parser.parse(std::string_view(text).substr(0, text.find('\n')), event) &&
         !parser.visit_arguments(event, reader);
}

TEST_CASE("a table of fields is read alike with simdjson and without") {
  for (const bool is_canonical : {true, false}) {
    model::NameTable names;
    Reader reader(&names);
    REQUIRE(read(R"({"number":7,"time_ns":12,"unread":"x","else":1,"late":true,"func":"Send",)"
                 R"("side":"right","comm":"0x1"})",
                 is_canonical, reader));
    CHECK(reader.row().number == 7);
    CHECK(reader.row().time_ns == 12);
    CHECK(reader.row().is_late);
    CHECK(reader.row().side == Side::kRight);
    CHECK(names.text(reader.row().function) == "Send");
    CHECK(reader.row().comm == "0x1");
    CHECK(reader.missing().empty());
    CHECK(reader.has("late"));

    REQUIRE(read(R"({"func":"Recv","number":1})", is_canonical, reader));
    CHECK(reader.row().number == 1);
    CHECK_FALSE(reader.row().time_ns);
    CHECK_FALSE(reader.row().is_late);
    CHECK_FALSE(reader.has("late"));
    CHECK(names.text(reader.row().function) == "Recv");
    CHECK(reader.missing() == "side");
    REQUIRE(read(R"({"late":false})", is_canonical, reader));
    CHECK(reader.missing() == "number");
  }
}

TEST_CASE("a value that does not fit its member is an error, whoever reads it") {
  for (const char* const arguments :
       {R"({"number":"7"})", R"({"number":4294967296})", R"({"time_ns":true})", R"({"late":1})",
        R"({"side":"up"})", R"({"side":1})", R"({"func":3})", R"({"comm":false})"}) {
    INFO(arguments);
    model::NameTable names;
    Reader reader(&names);
    CHECK_FALSE(read(arguments, true, reader));
    CHECK_FALSE(read(arguments, false, reader));
  }
}

TEST_CASE("times are microseconds with three decimals") {
  CHECK(nanoseconds("0.000") == 0);
  CHECK(nanoseconds("12.345") == 12345);
  CHECK(nanoseconds("12.345 \t") == 12345);
  CHECK(nanoseconds("999999999999999.999") == 999999999999999999);
  for (const char* const text : {"", "12", "12.34", "12.3456", "-1.000", ".123", "1e3", "1.2e3",
                                 "12.34x", "12345678901234567.000"}) {
    INFO(text);
    CHECK_FALSE(nanoseconds(text));
  }
}

}  // namespace
}  // namespace ringside::load
