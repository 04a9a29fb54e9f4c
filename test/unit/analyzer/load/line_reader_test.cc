// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/source/line_reader.h"

#include <vector>

#include "test/unit/analyzer/temporary_file.h"
#include "test/unit/catch.h"

namespace ringside::load {
namespace {

std::vector<std::string> lines_of(std::string_view text, std::size_t chunk_bytes) {
  const TemporaryFile file(text);
  LineReader reader(chunk_bytes);
  REQUIRE_FALSE(reader.open(file.path()));
  std::vector<std::string> lines;
  Line line;
  while (reader.next(line)) {
    CHECK(line.number == lines.size() + 1);
    lines.emplace_back(line.text);
    if (!line.has_newline) {
      lines.back() += "<torn>";
    }
  }
  CHECK_FALSE(reader.error());
  CHECK(reader.bytes_read() == text.size());
  return lines;
}

TEST_CASE("lines are the same for every size of the chunks") {
  const auto chunk_bytes = GENERATE(std::size_t{1}, std::size_t{3}, std::size_t{4096});
  CHECK(lines_of("", chunk_bytes).empty());
  CHECK(lines_of("one", chunk_bytes) == std::vector<std::string>{"one<torn>"});
  CHECK(lines_of("one\n\nthree\n", chunk_bytes) == std::vector<std::string>{"one", "", "three"});
  CHECK(lines_of("a\nbc", chunk_bytes) == std::vector<std::string>{"a", "bc<torn>"});
}

TEST_CASE("a line that is too long is skipped, the next is read") {
  const std::string text = std::string(3 * LineReader::kMaxLineBytes, 'x') + "\nnext\n" +
                           std::string(LineReader::kMaxLineBytes + 1, 'y');
  const TemporaryFile file(text);
  const auto chunk_bytes = GENERATE(std::size_t{1000}, std::size_t{8} << 20U);
  LineReader reader(chunk_bytes);
  REQUIRE_FALSE(reader.open(file.path()));
  Line line;
  REQUIRE(reader.next(line));
  CHECK(line.is_too_long);
  CHECK(line.text.empty());
  REQUIRE(reader.next(line));
  CHECK(line.text == "next");
  CHECK(line.number == 2);
  REQUIRE(reader.next(line));
  CHECK(line.is_too_long);
  CHECK_FALSE(line.has_newline);
  CHECK_FALSE(reader.next(line));
}

TEST_CASE("what cannot be read says why") {
  LineReader missing;
  CHECK(missing.open("/nonexistent/file") == "No such file or directory");
  LineReader directory;
  REQUIRE_FALSE(directory.open("/tmp"));
  Line line;
  CHECK_FALSE(directory.next(line));
  CHECK(directory.error() == "Is a directory");
}

TEST_CASE("the event of a line is without the array around it") {
  CHECK(event_of_line({"[{\"a\":1},", 1, true, false}) == "{\"a\":1}");
  CHECK(event_of_line({"{\"a\":[1]}", 2, true, false}) == "{\"a\":[1]}");
  CHECK(event_of_line({" {},\r", 2, true, false}) == "{}");
  CHECK(event_of_line({"]", 3, true, false}).empty());
  CHECK(event_of_line({"[", 1, true, false}).empty());
  CHECK(closes_array({"]", 3, false, false}));
  CHECK_FALSE(closes_array({"{}", 3, true, false}));
}

}  // namespace
}  // namespace ringside::load
