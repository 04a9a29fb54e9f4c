// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/source/byte_source.h"

#include <string>
#include <string_view>
#include <zlib.h>

#include "analyzer/load/source/ahead_source.h"
#include "test/unit/analyzer/temporary_file.h"
#include "test/unit/catch.h"

namespace ringside::load {
namespace {

std::string squeezed(std::string_view text) {
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string result(text.size() + 1000, ' ');
  std::string copy(text);
  stream.next_in = reinterpret_cast<Bytef*>(copy.data());
  stream.avail_in = static_cast<uInt>(copy.size());
  stream.next_out = reinterpret_cast<Bytef*>(result.data());
  stream.avail_out = static_cast<uInt>(result.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  result.resize(stream.total_out);
  deflateEnd(&stream);
  return result;
}

std::string some_text() {
  std::string text;
  for (int i = 0; i < 500; ++i) {
    text += "line " + std::to_string(i * 7919) + "\n";
  }
  return text;
}

struct Result {
  std::string text;
  std::optional<std::string> error;
};

template <typename Source = ByteSource>
Result read_all(std::string_view bytes, std::size_t step = 4096) {
  const TemporaryFile file(bytes);
  Source source;
  REQUIRE_FALSE(source.open(file.path()));
  Result result;
  std::string piece(step, ' ');
  for (std::size_t got = 1; got != 0;) {
    got = source.read(piece.data(), piece.size());
    result.text.append(piece, 0, got);
  }
  result.error = source.error();
  return result;
}

}  // namespace

TEST_CASE("plain and compressed files give the same text, however they are read") {
  const std::string text = some_text();
  const auto step = GENERATE(std::size_t{1}, std::size_t{3}, std::size_t{100'000});
  for (const std::string& bytes : {text, squeezed(text)}) {
    const Result result = read_all(bytes, step);
    CHECK(result.text == text);
    CHECK_FALSE(result.error);
  }
}

TEST_CASE("short files, and compressed files one after the other") {
  CHECK(read_all("").text.empty());
  CHECK(read_all("\x1f").text == "\x1f");
  CHECK(read_all(squeezed("")).text.empty());
  const Result both = read_all(squeezed("one\n") + squeezed("two\n"));
  CHECK(both.text == "one\ntwo\n");
  CHECK_FALSE(both.error);
}

TEST_CASE("zeros behind a compressed file are padding, as to gzip") {
  const std::string zeros(100'000, '\0');
  const auto step = GENERATE(std::size_t{1}, std::size_t{100'000});
  const Result padded = read_all(squeezed("one\n") + zeros, step);
  CHECK(padded.text == "one\n");
  CHECK_FALSE(padded.error);
  CHECK(read_all(squeezed("one\n") + zeros + squeezed("two\n"), step).text == "one\ntwo\n");
  CHECK(read_all(squeezed("one\n") + zeros + "two", step).error);
}

TEST_CASE("a compressed file that is cut off gives what there is, and says so", "[one-thread]") {
  const std::string text = some_text();
  const std::string bytes = squeezed(text);
  for (std::size_t size = 2; size < bytes.size(); ++size) {
    const Result result = read_all(std::string_view(bytes).substr(0, size));
    CHECK(text.starts_with(result.text));
    REQUIRE(result.error);
    CHECK(*result.error == "the compressed data is cut off");
  }
}

TEST_CASE("a compressed file with any byte changed never gives other text without saying so",
          "[one-thread]") {
  const std::string text = some_text();
  const std::string bytes = squeezed(text);
  for (std::size_t at = 10; at < bytes.size(); ++at) {  // behind gzip's own header
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
    const Result result = read_all(damaged);
    CHECK(result.error);
  }
}

TEST_CASE("a text that is far longer than its file is read up to a bound", "[one-thread]") {
  const std::size_t size = std::size_t{100} << 20;
  const Result result = read_all(squeezed(std::string(size, '\n')), std::size_t{1} << 20);
  CHECK(result.text.size() < size);
  CHECK(result.error == "the compressed data is damaged: its text is more than 256 times as long");
}

TEST_CASE("what a thread decompresses ahead is the same text, and the same error") {
  std::string text;
  for (std::size_t i = 0; text.size() < 3'000'000; ++i) {  // many blocks
    text += std::to_string(i * 7919) + "\n";
  }
  const std::string bytes = squeezed(text);
  for (const std::size_t step : {std::size_t{1000}, std::size_t{1} << 20}) {
    for (const std::string& file :
         {bytes, bytes.substr(0, bytes.size() / 2), text, std::string()}) {
      const Result ahead = read_all<AheadSource>(file, step);
      const Result plain = read_all(file, step);
      CHECK(ahead.text == plain.text);
      CHECK(ahead.error == plain.error);
    }
  }
  CHECK(AheadSource().open("/nowhere/at/all"));
}

TEST_CASE("a file that is decompressed ahead may be left before its end") {
  const TemporaryFile file(squeezed(std::string(3'000'000, 'x')));
  for (const std::size_t size : {0U, 1U, 300'000U}) {
    AheadSource source;
    REQUIRE_FALSE(source.open(file.path()));
    std::string piece(size, ' ');
    source.read(piece.data(), piece.size());
    CHECK_FALSE(source.error());
  }
}

}  // namespace ringside::load
