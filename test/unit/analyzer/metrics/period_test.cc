// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/iterations/period.h"

#include <algorithm>
#include <random>
#include <string_view>

#include "test/unit/catch.h"

using namespace ringside::metrics;

namespace {

Symbols of(std::string_view text) {
  return {text.begin(), text.end()};
}

Symbols& operator+=(Symbols& symbols, std::string_view text) {
  symbols.insert(symbols.end(), text.begin(), text.end());
  return symbols;
}

Symbols repeated(std::string_view text, int times) {
  Symbols symbols;
  for (int i = 0; i < times; ++i) {
    symbols += text;
  }
  return symbols;
}

std::size_t chosen_length(const Symbols& symbols) {
  const Periods periods = find_periods(symbols);
  return periods.chosen ? periods.seen[*periods.chosen].block.size() : 0;
}

// A block of the given length in which every symbol is as likely as any other.
Symbols random_block(std::mt19937_64& random, std::size_t length, std::uint32_t symbols) {
  Symbols block(length);
  std::generate(block.begin(), block.end(),
                [&] { return static_cast<std::uint32_t>(random() % symbols); });
  return block;
}

}  // namespace

TEST_CASE("a block that repeats is found, with its start and its cut end") {
  Symbols symbols = of("xyzzyx");  // a start that does not repeat
  const Symbols turns = repeated("abcab", 10);
  symbols.insert(symbols.end(), turns.begin(), turns.end());
  symbols += "abc";
  const Periods periods = find_periods(symbols);
  REQUIRE(periods.chosen);
  const Period& period = periods.seen[*periods.chosen];
  CHECK(period.block == of("abcab"));
  CHECK(period.coverage == Approx(53.0 / 59));
  const auto found = find_turns(symbols, period.block);
  REQUIRE(found.size() == 10);
  CHECK(found.front().begin == 6);
  CHECK(found.back().end == 56);
}

TEST_CASE("extra symbols, now and then, break nothing") {
  // Between turns, and in the midst of one.
  Symbols symbols = repeated("abcdefg", 7);
  symbols += "EVAL";
  symbols += "abcdefgabcdefgabcdefgabcdefgabc";
  symbols += "S";
  symbols += "defgabcdefgabcdefgabcdefg";
  const Periods periods = find_periods(symbols);
  REQUIRE(periods.chosen);
  CHECK(periods.seen[*periods.chosen].block.size() == 7);
  const auto turns = find_turns(symbols, of("abcdefg"));
  REQUIRE(turns.size() == 15);
  CHECK(turns[6].end == 49);
  CHECK(turns[7].begin == 53);
  CHECK(turns[11].end - turns[11].begin == 8);
  CHECK(turns[12].begin == turns[11].end);
}

TEST_CASE("a turn that lacks a symbol is none, and the next one is") {
  Symbols symbols = repeated("abcdefg", 5);
  symbols += "abdefg";
  const Symbols rest = repeated("abcdefg", 5);
  symbols.insert(symbols.end(), rest.begin(), rest.end());
  const auto turns = find_turns(symbols, of("abcdefg"));
  REQUIRE(turns.size() == 10);
  CHECK(turns[5].begin == 41);
}

TEST_CASE(
    "a loop inside an iteration is not the iteration; something rare after many is not in it") {
  CHECK(chosen_length(repeated("aaaaaaaaaaaaaaaaaaaab", 20)) == 21);     // one symbol
  CHECK(chosen_length(repeated("srsrsrsrsrsrsrsrsrsrsraa", 20)) == 24);  // few symbols
  CHECK(chosen_length(repeated("abcdefgabcdefgabcdefgz", 20)) == 22);    // a few turns
  Symbols many;
  for (int i = 0; i < 8; ++i) {
    const Symbols turns = repeated("abcdefg", 25);
    many.insert(many.end(), turns.begin(), turns.end());
    many += "z";
  }
  CHECK(chosen_length(many) == 7);
  const Periods periods = find_periods(many);
  REQUIRE(periods.seen.size() == 2);
  CHECK(periods.seen[1].block.size() == 176);
}

TEST_CASE("the same again and again has a period of one; what is not enough has none") {
  CHECK(chosen_length(repeated("a", 16)) == 1);
  CHECK(chosen_length(repeated("a", 15)) == 0);
  CHECK(chosen_length({}) == 0);
  // A sweep: each repeats, but none for long.
  Symbols sweep = repeated("a", 20);
  for (const char* const next : {"b", "c", "d"}) {
    const Symbols part = repeated(next, 20);
    sweep.insert(sweep.end(), part.begin(), part.end());
  }
  const Periods periods = find_periods(sweep);
  CHECK_FALSE(periods.chosen);
  REQUIRE(periods.nearest);
  CHECK(periods.nearest->coverage == Approx(0.25));
  CHECK(find_period_of(repeated("abcdef", 10), 12)->block == of("abcdefabcdef"));
  CHECK_FALSE(find_period_of(repeated("abcdef", 10), 5));
  CHECK_FALSE(find_period_of(repeated("abcdef", 10), 31));
  CHECK_FALSE(find_period_of(repeated("abcdef", 10), 0));
}

TEST_CASE("noise has no period", "[one-thread]") {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    std::mt19937_64 random(seed);
    const auto symbols = static_cast<std::uint32_t>(2 + random() % 30);
    const Symbols noise = random_block(random, 16 + random() % 700, symbols);
    const Periods periods = find_periods(noise);
    INFO("seed " << seed);
    REQUIRE_FALSE(periods.chosen);
  }
}

TEST_CASE("a period with rare extras is found, whatever its block", "[one-thread]") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    std::mt19937_64 random(seed);
    const std::size_t length = 5 + random() % 200;
    const Symbols block = random_block(random, length, 12);
    Symbols symbols = random_block(random, random() % length, 12);
    constexpr std::size_t kTurns = 40;
    const std::size_t first = 9 + random() % 4;
    const std::size_t second = 25 + random() % 4;
    for (std::size_t turn = 0; turn < kTurns; ++turn) {
      symbols.insert(symbols.end(), block.begin(), block.end());
      if (turn == first || turn == second) {
        symbols.insert(symbols.end() - static_cast<std::ptrdiff_t>(random() % length), 99);
      }
    }
    symbols.insert(symbols.end(), block.begin(),
                   block.begin() + static_cast<std::ptrdiff_t>(random() % length));
    const Periods periods = find_periods(symbols);
    INFO("seed " << seed);
    REQUIRE(periods.chosen);
    const Period& found = periods.seen[*periods.chosen];
    REQUIRE(found.block.size() == length);
    // All of them, but for one that begins elsewhere in the block.
    REQUIRE(find_turns(symbols, found.block).size() + 1 >= kTurns);
  }
}
