// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/load/source/line_reader.h"
#include "analyzer/merge/line.h"
#include "analyzer/merge/slice_rows.h"
#include "test/unit/catch.h"

namespace ringside::merge {
namespace {

// Two microseconds later, on a clock that goes at half the speed behind 100 us; nothing before 1
// us.
Place place() {
  return {42, 3, [](std::int64_t ns) -> std::optional<std::int64_t> {
            if (ns < 1'000) {
              return std::nullopt;
            }
            return (ns > 100'000 ? 100'000 + (ns - 100'000) / 2 : ns) + 2'000;
          }};
}

struct Moved {
  std::string text;
  std::optional<std::string> failure;
  bool has_place = false;
};

Moved move(std::string json) {
  const std::size_t size = json.size();
  json.append(1, '\n').append(load::LineReader::kPadding, ' ');
  EventLine line;
  Moved moved;
  moved.failure = line.parse(std::string_view(json).substr(0, size));
  if (!moved.failure) {
    moved.has_place = line.append_moved(place(), moved.text).has_value();
  }
  return moved;
}

std::string text(std::string json) {
  return move(std::move(json)).text;
}

}  // namespace

TEST_CASE("a moved line keeps all but its process, time and flow") {
  CHECK(text(R"({"ph":"X","cat":"api","pid":7,"tid":9,"ts":5.250,"dur":1.500,"name":"a"})") ==
        R"({"ph":"X","cat":"api","pid":42,"tid":9,"ts":7.250,"dur":1.500,"name":"a"})");
  // The end is moved, not the duration.
  CHECK(text(R"({"ph":"X","pid":7,"ts":90.000,"dur":20.000})") ==
        R"({"ph":"X","pid":42,"ts":92.000,"dur":15.000})");
  CHECK(text(R"({"ph":"b","pid":7,"ts":5.000,"bind_id":"0x7f3a00000000001a","flow_in":true})") ==
        R"({"ph":"b","pid":42,"ts":7.000,"bind_id":"0x30000001a","flow_in":true})");
}

TEST_CASE("the order of keys, blanks and what is unknown stay") {
  CHECK(
      text(
          R"({ "args" : {"ts":1.000, "pid":[7,{"bind_id":"0x1"}]} ,"ts" : 5.000 , "zzz":null,"pid":7,"ph":"i"})") ==
      R"({ "args" : {"ts":1.000, "pid":[7,{"bind_id":"0x1"}]} ,"ts" : 7.000, "zzz":null,"pid":42,"ph":"i"})");
}

TEST_CASE("strings with quotes, brackets and escapes are no structure") {
  CHECK(text(R"({"ph":"i","name":"a\"},\\{[\u0041","ts":5.000,"\u0070id":7,"s,}":"\\"})") ==
        R"({"ph":"i","name":"a\"},\\{[\u0041","ts":7.000,"\u0070id":42,"s,}":"\\"})");
}

TEST_CASE("metadata has no time") {
  CHECK(text(R"({"ph":"M","pid":7,"tid":7,"ts":0,"name":"x","args":{"a_ns":5}})") ==
        R"({"ph":"M","pid":42,"tid":7,"ts":0,"name":"x","args":{"a_ns":5}})");
}

TEST_CASE("of a key that is there twice all are moved and the last counts") {
  CHECK(text(R"({"ph":"i","pid":7,"pid":8,"ts":3.000,"ts":5.000})") ==
        R"({"ph":"i","pid":42,"pid":42,"ts":7.000,"ts":7.000})");
}

TEST_CASE("a line that is damaged, or lacks a key, is not moved") {
  for (const char* const json :
       {"", "{", "[]", "{}", R"({"ph":"i","pid":7,"ts":5.000)", R"({"ph":"i","ts":5.000})",
        R"({"pid":7,"ts":5.000})", R"({"ph":"i","pid":7})", R"({"ph":"i","pid":7,"ts":5})",
        R"({"ph":"i","pid":7,"ts":-5.000})", R"({"ph":"i","pid":7,"ts":5.0000})",
        R"({"ph":"i","pid":7,"ts":"5.000"})", R"({"ph":"X","pid":7,"ts":5.000})",
        R"({"ph":"X","pid":7,"ts":5.000,"dur":1})", R"({"ph":3,"pid":7,"ts":5.000})",
        R"({"ph":"b","pid":7,"ts":5.000,"bind_id":7})",
        R"({"ph":"i","pid":7,"ts":99999999999999999999.000})"}) {
    INFO(json);
    CHECK(move(json).failure);
  }
}

TEST_CASE("a time that has no place on the common time line leaves the line out") {
  const Moved early = move(R"({"ph":"i","pid":7,"ts":0.999})");
  CHECK_FALSE(early.failure);
  CHECK_FALSE(early.has_place);
  CHECK(early.text.empty());
  // The end would be beyond 2^63.
  CHECK_FALSE(
      move(R"({"ph":"X","pid":7,"ts":4600000000000000.000,"dur":4650000000000000.000})").has_place);
}

TEST_CASE("what a line says of its operation and GPU") {
  EventLine line;
  std::string json =
      R"({"ph":"b","cat":"op","id2":{"local":"0x1a"},"pid":1,"ts":1.000,"args":{"op":26,"gpu":{"index":2}}})";
  const std::size_t size = json.size();
  json.append(1, '\n').append(load::LineReader::kPadding, ' ');
  REQUIRE_FALSE(line.parse(std::string_view(json).substr(0, size)));
  CHECK(line.id == "0x1a");
  CHECK(line.arguments().op == 26);
  CHECK(line.gpu_index == 2);
}

TEST_CASE("a line with a blank in it is read as the line that the plugin writes") {
  for (
      const std::string line :
      {R"({"ph":"b","cat":"op","id2":{"local":"0x1a"},"pid":1,"tid":2,"ts":1.000,"name":"Send",)"
       R"("bind_id":"0x7f3a00000000001a","flow_in":true,"args":{"op":26,"kind":"p2p","peer":3,)"
       R"("bytes":1048576,"in_flight":true}})",
       R"({"ph":"e","cat":"op","id2":{"local":"0x1a"},"pid":1,"tid":2,"ts":9.500,"name":"Send"})",
       R"({"ph":"X","cat":"api","pid":1,"tid":2,"ts":1.000,"dur":2.125,"name":"a","args":{"op":4}})",
       R"({"ph":"i","cat":"mark","s":"p","pid":1,"tid":1,"ts":2.000,"name":"start","args":{}})",
       R"({"ph":"b","pid":1,"ts":1.000,"args":{"op":7},"args":{"peer":-3,"x":[1]}})",
       R"({"ph":"b","pid":1,"ts":1.000,"ts":2.000,"ph":"e","args":{"op":1.5,"op":8}})"}) {
    INFO(line);
    const auto read = [](std::string json, EventLine& event) {
      const std::size_t size = json.size();
      json.append(1, '\n').append(load::LineReader::kPadding, ' ');
      static std::string kept[2];
      std::string& text = kept[json.starts_with("{ ") ? 1 : 0];
      text = std::move(json);
      REQUIRE_FALSE(event.parse(std::string_view(text).substr(0, size)));
      std::string moved;
      CHECK(event.append_moved(place(), moved));
      return moved;
    };
    EventLine as_written;
    EventLine with_blank;
    const std::string moved = read(line, as_written);
    CHECK(read("{ " + line.substr(1), with_blank) == "{ " + moved.substr(1));
    CHECK(as_written.phase == with_blank.phase);
    CHECK(as_written.category == with_blank.category);
    CHECK(as_written.name == with_blank.name);
    CHECK(as_written.id == with_blank.id);
    CHECK(as_written.ts_ns == with_blank.ts_ns);
    CHECK(as_written.dur_ns == with_blank.dur_ns);
    CHECK(as_written.arguments().op == with_blank.arguments().op);
    CHECK(as_written.arguments().peer == with_blank.arguments().peer);
    CHECK(as_written.arguments().bytes == with_blank.arguments().bytes);
    CHECK(as_written.arguments().kind == with_blank.arguments().kind);
  }
}

TEST_CASE("a slice gets all members but those that it has itself") {
  const auto members = [](std::string json, std::string_view name, std::string_view more) {
    const std::size_t size = json.size();
    json.append(1, '\n').append(load::LineReader::kPadding, ' ');
    EventLine line;
    REQUIRE_FALSE(line.parse(std::string_view(json).substr(0, size)));
    std::string text = "before";
    CHECK(line.append_members(place(), name, more, text));
    return text;
  };
  CHECK(
      members(R"({"ph":"b","cat":"op","id2":{"local":"0x1"},"pid":7,"tid":9,"ts":5.000,"name":"a",)"
              R"("args":{"op":1}})",
              "AllReduce 1 MiB #1", R"(,"called_by":"x")") ==
      R"(before,"cat":"op","pid":42,"ts":7.000,"name":"AllReduce 1 MiB #1",)"
      R"("args":{"op":1,"called_by":"x"})");
  CHECK(members(R"({"name":"a","name":"b","ph":"b","ts":5.000,"pid":7})", "a \"b\"\n\\", "") ==
        R"(before,"name":"a \"b\"\u000a\\","name":"a \"b\"\u000a\\","ts":7.000,"pid":42)");
  CHECK(members(R"({ "pid" : 7 ,"ph":"b","args":{ } ,"ts":5.000,"dur":2.000})", "x", ",\"y\":1") ==
        R"(before, "pid" : 42,"args":{ ,"y":1},"ts":7.000)");
  CHECK(members(R"({"ph":"b","pid":7,"ts":5.000,"args":5,"args":{"op":1}})", "x", ",\"y\":1") ==
        R"(before,"pid":42,"ts":7.000,"args":5,"args":{"op":1,"y":1})");
}

// As of operations whose ends are lost. They are more than a category has rows of its own, and so
// many that a search through all rows for each of them would not end.
TEST_CASE("slices that all overlap have a row each", "[one-thread]") {
  constexpr std::int64_t kSlices = 1'100'000;
  SliceRows rows;
  std::vector<std::uint32_t> tids = {rows.place("ce", "other", 0, kSlices).tid};
  for (std::int64_t i = 0; i < kSlices; ++i) {
    const SliceRows::Row row = rows.place("op", "world", i, kSlices);
    REQUIRE(row.is_new);
    tids.push_back(row.tid);
  }
  std::sort(tids.begin(), tids.end());
  CHECK(std::adjacent_find(tids.begin(), tids.end()) == tids.end());
  CHECK_FALSE(rows.place("op", "world", kSlices + kRounding_ns, kSlices + 10).is_new);
}

TEST_CASE("rows that are taken again hold no slices that overlap") {
  SliceRows rows;
  std::map<std::uint32_t, std::int64_t> ends;
  for (std::int64_t i = 0; i < 10'000; ++i) {
    const std::int64_t end_ns = i * 10 + 1'000 + i % 7 * 100;
    const SliceRows::Row row = rows.place("op", "world", i * 10, end_ns);
    REQUIRE(row.is_new == !ends.contains(row.tid));
    REQUIRE((row.is_new || ends[row.tid] + kRounding_ns <= i * 10));
    ends[row.tid] = end_ns;
  }
  CHECK(ends.size() > 100);
  CHECK(ends.size() < 200);
}

}  // namespace ringside::merge
