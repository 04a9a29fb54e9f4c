// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/source/byte_words.h"

#include <cctype>
#include <string>

#include "test/unit/catch.h"

namespace ringside::load {
namespace {

TEST_CASE("a text ends at the first byte that does not stand for itself") {
  const std::string plain = " !#$09AZ[]az~\x7F, and more than eight of them";
  for (int byte = 0; byte < 256; ++byte) {
    const bool ends = byte < 0x20 || byte >= 0x80 || byte == '"' || byte == '\\';
    for (std::size_t at = 0; at < 20; ++at) {
      std::string text = plain + '"';
      text[at] = static_cast<char>(byte);
      text.append(8, '\xFF');
      const std::size_t expected = ends ? at : plain.size();
      INFO("byte " << byte << " at " << at);
      CHECK(static_cast<std::size_t>(find_end_of_plain_text(text.data()) - text.data()) ==
            expected);
    }
  }
}

TEST_CASE("digits end at the first byte that is none") {
  for (int byte = 0; byte < 256; ++byte) {
    for (int second : {0x00, 0x2F, 0x30, 0x39, 0x3A, 0x80, 0xBA, 0xFF}) {
      for (std::size_t at = 0; at + 1 < 8; ++at) {
        std::string text = "90909090";
        text[at] = static_cast<char>(byte);
        text[at + 1] = static_cast<char>(second);
        std::size_t expected = 0;
        while (expected < 8 && std::isdigit(static_cast<unsigned char>(text[expected])) != 0) {
          ++expected;
        }
        INFO("bytes " << byte << " and " << second << " at " << at);
        CHECK(leading_digits(load_word(text.data())) == expected);
      }
    }
  }
}

TEST_CASE("up to sixteen digits are read as a number") {
  const std::string digits = "1234567890123456";
  for (std::size_t count = 0; count <= digits.size(); ++count) {
    for (const char* const rest :
         {",\"next\":1, and more", "}}}}}}}}}}}}}}}}}}}}", ".125,........"}) {
      const std::string text = digits.substr(0, count) + rest;
      std::uint64_t number = 7;
      INFO(text);
      CHECK(read_digits(text.data(), number) == count);
      CHECK(count_digits(text.data()) == count);
      CHECK(number == (count == 0 ? 0 : std::stoull(digits.substr(0, count))));
    }
  }
  std::uint64_t number = 0;
  CHECK(read_digits("99999999999999999", number) == 16);
  CHECK(number == 9'999'999'999'999'999U);
}

TEST_CASE("a byte that JSON escapes is found among eight, wherever it is") {
  for (std::size_t at = 0; at < 8; ++at) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string text = "\x7f !#[]\xff~";
      text[at] = static_cast<char>(byte);
      INFO("byte " << byte << " at " << at);
      CHECK(has_escaped_byte(load_word(text.data())) ==
            (byte < 0x20 || byte == '"' || byte == '\\'));
    }
  }
}

}  // namespace
}  // namespace ringside::load
