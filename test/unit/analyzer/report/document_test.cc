// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/document/document.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/report/document/columns.h"
#include "test/unit/catch.h"

using namespace ringside;
using report::Cell;
using report::Shown;

namespace {

report::Document sample() {
  report::Document document;
  document.command = "sample";
  document.sentences = {"Rank 3 is late."};
  document.findings = {{report::Severity::kError, "straggler", "rank 3\x1B[31m waits"}};
  document.tables.push_back({"ranks",
                             "Ranks",
                             {{"name", "name"},
                              {"wait_ns", "waits", Shown::kDuration},
                              {"bytes", "size", Shown::kBytes},
                              {"busbw_gb_s", "busbw", Shown::kNumber, "GB/s", 3},
                              {"at_ns", "at", Shown::kMoment}},
                             {{std::string("a,b"), std::int64_t{12'345}, std::uint64_t{65'536}, 1.5,
                               std::int64_t{3'723'004'000'000}},
                              {std::string("c"), Cell(), Cell(), Cell(), Cell()}},
                             2});
  document.notes = {"the clocks are not aligned"};
  return document;
}

}  // namespace

TEST_CASE("a document is the same in every format") {
  const report::Document document = sample();
  CHECK(report::render(document, "table") ==
        "Rank 3 is late.\n"
        "error: rank 3?[31m waits\n"
        "\n"
        "Ranks\n"
        "  name    waits    size  busbw            at\n"
        "                          GB/s\n"
        "  a,b   12.3 us  64 KiB  1.500  01:02:03.004\n"
        "  c           -       -      -             -\n"
        "  2 more rows left out (--top shows more)\n"
        "\n"
        "note: the clocks are not aligned\n");
  CHECK(report::render(document, "csv") ==
        "name,wait_ns,bytes,busbw_gb_s,at_ns\n"
        "\"a,b\",12345,65536,1.500,3723004000000\n"
        "c,,,,\n");
  CHECK(report::render(document, "csv", "other").empty());
  const std::string json = report::render(document, "json");
  CHECK(json.find("\"wait_ns\": 12345") != std::string::npos);
  CHECK(json.find("\"busbw_gb_s\": null") != std::string::npos);
  CHECK(json.find("\"left_out\": 2") != std::string::npos);
  const std::string markdown = report::render(document, "markdown");
  CHECK(markdown.find("| name | waits | size | busbw (GB/s) | at |") != std::string::npos);
}

TEST_CASE("names are no markup of Markdown and no formulas of a spreadsheet") {
  report::Document document;
  document.command = "sample";
  document.sentences = {"Rank <b>3</b> is *late*."};
  document.findings = {{report::Severity::kError, "straggler", "<script>"}};
  document.tables.push_back(
      {"ranks", "of <i>x</i>", {{"name", "name"}, {"wait_ns", "waits", Shown::kInteger}}, {}});
  for (const char* const name :
       {"=1+1", "+a", "-b", "@c", "\t=d", "-5", "a=b", "<img onerror=e>|"}) {
    document.tables[0].rows.push_back({std::string(name), std::int64_t{-7}});
  }
  document.notes = {"[a](http://b) & `c`"};
  CHECK(report::render(document, "csv") ==
        "name,wait_ns\n'=1+1,-7\n'+a,-7\n'-b,-7\n'@c,-7\n'\t=d,-7\n-5,-7\na=b,-7\n"
        "<img onerror=e>|,-7\n");
  const std::string markdown = report::render(document, "markdown");
  CHECK(markdown.find("Rank &lt;b>3&lt;/b> is \\*late\\*.\n") != std::string::npos);
  CHECK(markdown.find("**error**: &lt;script>\n") != std::string::npos);
  CHECK(markdown.find("## of &lt;i>x&lt;/i>\n") != std::string::npos);
  CHECK(markdown.find("| &lt;img onerror=e>\\| | -7 |\n") != std::string::npos);
  CHECK(markdown.find("- \\[a](http://b) &amp; \\`c\\`\n") != std::string::npos);
}

TEST_CASE("a table has a line of units if a column has one") {
  report::Table table{"t", "Title", {{"a", "name"}, {"b", "count", Shown::kInteger}}, {}};
  table.rows.push_back({std::string("x"), std::uint64_t{7}});
  CHECK(report::render_table(table, false) ==
        "Title\n"
        "  name  count\n"
        "  x         7\n");
  table.columns[1].unit = "us";
  CHECK(report::render_table(table, false) ==
        "Title\n"
        "  name  count\n"
        "           us\n"
        "  x         7\n");
}

TEST_CASE("a value above 0 is never shown as 0") {
  report::Table table{
      "t", "", {{"a", "a", Shown::kNumber}, {"chance", "chance", Shown::kNumber, "", 6}}, {}};
  table.rows.push_back({0.004, 1e-9});
  table.rows.push_back({0.005001, 0.5});
  table.rows.push_back({0.0, 0.0});
  CHECK(report::render_table(table, false) ==
        "      a    chance\n"
        "  <0.01     <1e-6\n"
        "   0.01  0.500000\n"
        "   0.00     <1e-6\n");
  CHECK(report::render_csv(table) == "a,chance\n0.00,0.000000\n0.01,0.500000\n0.00,0.000000\n");
}

TEST_CASE("a narrow terminal leaves out the columns that the table names") {
  report::Table table{"t",
                      "",
                      {{"a", "name"}, {"b", "protocol"}, {"c", "busbw", Shown::kNumber}},
                      {{std::string("x"), std::string("SIMPLE"), 1.5}}};
  table.gives_way = {"b"};
  CHECK(report::render_table(table, false, 17) ==
        "  name  busbw\n"
        "  x      1.50\n"
        "  Columns that do\n"
        "    not fit this\n"
        "    terminal are\n"
        "    in --format\n"
        "    csv: protocol\n");
}

TEST_CASE("durations have three digits that count") {
  CHECK(report::human_duration(0.0) == "0 ns");
  CHECK(report::human_duration(999.0) == "999 ns");
  CHECK(report::human_duration(1000.0) == "1.00 us");
  CHECK(report::human_duration(99'960.0) == "100 us");
  CHECK(report::human_duration(999'499.0) == "999 us");
  CHECK(report::human_duration(999'600.0) == "1.00 ms");
  CHECK(report::human_duration(-12'345'678.0) == "-12.3 ms");
  CHECK(report::human_duration(7.2e12) == "7200 s");
  CHECK(report::time_of_day(-1'000'000) == "23:59:59.999");
}

TEST_CASE("a size may be any number of 64 bits") {
  report::Document document;
  document.tables.push_back({"sizes",
                             "Sizes",
                             {{"bytes", "size", Shown::kBytes}},
                             {{std::numeric_limits<std::uint64_t>::max()},
                              {std::uint64_t{1} << 63U},
                              {std::int64_t{-1}}}});
  const std::string text = report::render(document, "table");
  CHECK(text.find("16.0 EiB") != std::string::npos);
  CHECK(text.find("8 EiB") != std::string::npos);
  CHECK(text.find("-1 B") != std::string::npos);
}

TEST_CASE("one list gives a table its columns and their values") {
  struct Link {
    std::string peer;
    std::optional<std::uint32_t> channel;
    double gb_s() const { return 1.5; }
  };
  const std::vector<Link> links = {{"b", 7}, {"c", {}}};
  report::Table table = report::table_of("links", "Links", links,
                                         {{"peer", "peer", &Link::peer},
                                          {"channel", "channel", Shown::kInteger, &Link::channel},
                                          {"trouble", "trouble", Shown::kAbsent, &Link::peer},
                                          {"gb_s", "rate", Shown::kNumber, "GB/s", 1, &Link::gb_s},
                                          {"is_b", 0, [](auto& link) { return link.peer == "b"; }}},
                                         {"channel"});
  CHECK(report::render_csv(table) ==
        "peer,channel,gb_s,is_b\n"
        "b,7,1.5,yes\n"
        "c,,1.5,no\n");
  CHECK(table.gives_way == std::vector<std::string>{"channel"});
  CHECK(report::render_table(table, false) ==
        "Links\n"
        "  peer  channel  rate\n"
        "                 GB/s\n"
        "  b           7   1.5\n"
        "  c           -   1.5\n");
}
