// SPDX-License-Identifier: Apache-2.0
#include "live/hosts/relay_line.h"

#include <string>
#include <vector>

#include "test/unit/catch.h"

namespace ringside::live {
namespace {

TEST_CASE("texts of any bytes come out of a line as they went in, whatever stands beside it") {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) {
    all += static_cast<char>(byte);
  }
  for (const std::vector<std::string>& texts : {std::vector<std::string>{},
                                                {""},
                                                {"", "a", ""},
                                                {all, all + all},
                                                {std::string(300'000, 'x')}}) {
    const std::string line = relay_line(texts);
    CHECK(line.find('\n') == line.size() - 1);
    CHECK(read_relay_line(line) == texts);
    CHECK(read_relay_line("Welcome to node1\n" + line + "bye\n") == texts);
    CHECK(read_relay_line(line.substr(0, line.size() - 1) + "\r\n") == texts);
  }
}

TEST_CASE("a line that is damaged or cut is none") {
  const std::string line = relay_line({"find", "5000", std::string(200, 'q') + "end"});
  CHECK_FALSE(read_relay_line(line.substr(0, line.size() - 1)));
  for (std::size_t size = 0; size + 1 < line.size(); ++size) {
    CHECK_FALSE(read_relay_line(line.substr(0, size) + '\n'));
  }
  for (std::size_t i = 0; i + 1 < line.size(); ++i) {
    std::string changed = line;
    changed[i] = changed[i] == 'A' ? 'B' : 'A';
    CHECK_FALSE(read_relay_line(changed));  // zlib has a checksum over all of it
  }
  CHECK_FALSE(read_relay_line("not at its begin: " + line));
}

TEST_CASE("a short line that would become large is none") {
  constexpr std::size_t kMost_bytes = std::size_t{1} << 20;
  const std::string line = relay_line({std::string(2 * kMost_bytes, 'x')});
  REQUIRE(line.size() < 8192);
  CHECK(read_relay_line(line));
  CHECK_FALSE(read_relay_line(line, kMost_bytes));
  CHECK_FALSE(read_relay_line(relay_line(std::vector<std::string>((1U << 20) + 1))));
}

}  // namespace
}  // namespace ringside::live
