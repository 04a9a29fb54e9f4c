// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/document/numbers.h"

#include <limits>

#include "analyzer/report/document/json_writer.h"
#include "analyzer/report/document/text_table.h"
#include "test/unit/catch.h"

namespace ringside::report {
namespace {

TEST_CASE("numbers have fixed decimals") {
  CHECK(fixed(1.005, 1) == "1.0");
  CHECK(fixed(0, 2) == "0.00");
  CHECK(fixed(1e22, 0) == "10000000000000000000000");
  CHECK(fixed(std::numeric_limits<double>::max(), 3).size() == 313);
  CHECK(fixed(-0.004, 2) == "0.00");
  CHECK(fixed(-0.006, 2) == "-0.01");
}

TEST_CASE("a number for programs loses nothing") {
  CHECK(fixed(1e-12, kAllDecimals) == "1e-12");
  CHECK(fixed(-0.1, kAllDecimals) == "-0.1");
  CHECK(fixed(-0.0, kAllDecimals) == "0");
}

TEST_CASE("sizes are for people") {
  CHECK(human_bytes(0) == "0 B");
  CHECK(human_bytes(1023) == "1023 B");
  CHECK(human_bytes(4U << 20U) == "4 MiB");
  CHECK(human_bytes(1536) == "1.5 KiB");
  CHECK(human_bytes(std::numeric_limits<std::uint64_t>::max()) == "16.0 EiB");
  CHECK(signed_bytes(-1536) == "-1.5 KiB");
  CHECK(signed_bytes(65536) == "64 KiB");
}

TEST_CASE("two sizes that would be shown alike are found") {
  CHECK(look_alike({65536, 65540}));  // "64 KiB" and "64.0 KiB"
  CHECK(look_alike({1048, 1052}));
  CHECK_FALSE(look_alike({65536, 131072, 1048}));
}

TEST_CASE("counts have their plural") {
  CHECK(counted(1, "file") == "1 file");
  CHECK(counted(0, "file") == "0 files");
  CHECK(counted(2, "directory", "directories") == "2 directories");
}

TEST_CASE("JSON is escaped and indented") {
  JsonWriter json;
  json.begin_object();
  json.text("a\"b", "\x01\\");
  json.begin_array("empty");
  json.end_array();
  json.end_object();
  CHECK(json.finish() == "{\n  \"a\\\"b\": \"\\u0001\\\\\",\n  \"empty\": []\n}\n");
}

TEST_CASE("JSON is UTF-8, and has no number that is none") {
  JsonWriter json;
  json.begin_row();
  json.text({}, "a\xFF\x62");
  json.text({}, "\xC3\xA9");
  json.number({}, std::numeric_limits<double>::infinity(), 2);
  json.number({}, 0.5, 2);
  json.end_row();
  CHECK(json.finish() == "[\"a?b\", \"\xC3\xA9\", null, 0.50]\n");
}

TEST_CASE("columns are aligned by what the terminal shows") {
  TextTable table({{"name", "", false}, {"n", "us", true}});
  table.add_row({"\xC3\xA9t\xC3\xA9", "10"});
  table.add_row({"long one", "7"});
  CHECK(table.aligned(1) ==
        " name       n\n"
        "           us\n"
        " \xC3\xA9t\xC3\xA9       10\n"
        " long one   7\n");
  CHECK(TextTable({{"a|b", "", false}}).markdown() == "| a\\|b |\n|---|\n");
  CHECK(table.markdown() ==
        "| name | n (us) |\n|---|---:|\n| \xC3\xA9t\xC3\xA9 | 10 |\n| long one | 7 |\n");
}

TEST_CASE("the longest texts of a table that is too wide lose their middle") {
  TextTable table({{"communicator", "", false}, {"host", "", false}, {"n", "us", true}});
  table.add_row({"t\xC3\xA9nsor_parallel_group_17", "node-1", "1234567"});
  const std::string whole = table.aligned(2);
  CHECK(table.aligned(2, 43) == whole);  // 24 + 6 + 7, two gaps, the indent
  CHECK(table.aligned(2, 40) ==
        "  communicator           host          n\n"
        "                                      us\n"
        "  t\xC3\xA9nsor_par.._group_17  node-1  1234567\n");
  CHECK(table.aligned(2, 33).find("  t\xC3\xA9nsor..oup_17  node-1  1234567\n") !=
        std::string::npos);
  CHECK(table.aligned(2, 32) == whole);  // that would not be enough
  CHECK(table.aligned(2, 1) == whole);
}

TEST_CASE("columns of a table that is too wide give way in their order, and then from the last") {
  TextTable table({{"name", "", false},
                   {"first", "", true, 0},
                   {"n", "us", true},
                   {"second", "", true, 1},
                   {"fourth", "", true},
                   {"third", "", true}});
  table.add_row({"a", "1", "2", "3", "4", "5"});
  const auto left_out = [&](std::size_t columns) {
    std::vector<std::string> titles;
    table.aligned(0, columns, &titles);
    return titles;
  };
  const std::size_t all = 4 + 5 + 2 + 6 + 6 + 5 + 5 * 2;
  CHECK(left_out(all).empty());
  CHECK(left_out(all - 1) == std::vector<std::string>{"first"});
  CHECK(left_out(all - 8) == std::vector<std::string>{"first", "second"});
  CHECK(left_out(all - 16) == std::vector<std::string>{"first", "second", "third"});
  CHECK(left_out(all - 23) == std::vector<std::string>{"first", "second", "fourth", "third"});
  CHECK(left_out(1).size() == 4);  // the first three stay, but those that have a turn
  // The line of units goes with the only column that has one.
  TextTable units({{"a", "", true}, {"b", "", true}, {"c", "", true}, {"d", "us", true}});
  units.add_row({"1", "2", "3", "4"});
  std::vector<std::string> titles;
  CHECK(units.aligned(0, 8, &titles) == "a  b  c\n1  2  3\n");
  CHECK(titles == std::vector<std::string>{"d us"});
}

TEST_CASE("columns give way before the name of an operation is cut") {
  TextTable table({{"operation", "", false}, {"host", "", false, 0}, {"n", "", true}});
  table.add_row({"AllReduce #4 of world", "node-1", "7"});
  std::vector<std::string> titles;
  CHECK(table.aligned(0, 30, &titles).find("\nAllReduce #4 of world  7\n") != std::string::npos);
  CHECK(titles == std::vector<std::string>{"host"});
  titles.clear();
  CHECK(table.aligned(0, 20, &titles).find("\nAllReduc..f world  7\n") != std::string::npos);
  CHECK(titles == std::vector<std::string>{"host"});
}

TEST_CASE("long lines are broken between words") {
  CHECK(wrapped("one two three", 0) == "one two three\n");
  CHECK(wrapped("one two three", 13) == "one two three\n");
  CHECK(wrapped("one two three", 12) == "one two\n  three\n");
  CHECK(wrapped("  one two three", 9) == "  one two\n    three\n");
  CHECK(wrapped("much_longer_than_that x", 5) == "much_longer_than_that\n  x\n");
  CHECK(wrapped("", 5) == "\n");
  CHECK(wrapped("      ", 5) == "      \n");
}

}  // namespace
}  // namespace ringside::report
