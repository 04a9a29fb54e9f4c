// SPDX-License-Identifier: Apache-2.0
//
// Reads a file, compressed or not, line by line in large chunks; memory stays bounded whatever is
// in the file.
#ifndef RINGSIDE_ANALYZER_LOAD_SOURCE_LINE_READER_H
#define RINGSIDE_ANALYZER_LOAD_SOURCE_LINE_READER_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/load/source/byte_source.h"

namespace ringside::load {

struct Line {
  std::string_view text;     // without the newline; valid until the next line is read
  std::uint64_t number = 0;  // from 1
  bool has_newline = false;  // false: the last line of a file that was cut off
  bool is_too_long = false;  // text is empty then
};

class LineReader {
 public:
  /// Bytes behind the text of a line that may be read (not: used), which simdjson asks for.
  static constexpr std::size_t kPadding = 64;
  /// A line longer than this is skipped; the format allows 64 KiB.
  static constexpr std::size_t kMaxLineBytes = std::size_t{1} << 20;

  /// chunk_bytes is how much is read at once; tests make it small.
  explicit LineReader(std::size_t chunk_bytes = std::size_t{256} << 10)
      : chunk_bytes_(chunk_bytes) {}

  /// Returns why the file cannot be opened; nothing if it can.
  std::optional<std::string> open(const std::string& path);

  /// False at the end of the file, and when reading fails: error() says which.
  bool next(Line& line);

  /// Why reading ended before the end of the file; nothing if it did not.
  const std::optional<std::string>& error() const { return source_.error(); }
  /// Counts the bytes of the text; a compressed file's text is longer than the file.
  std::uint64_t bytes_read() const { return bytes_read_; }

 private:
  bool fill();
  bool skip_rest_of_line();

  std::size_t chunk_bytes_;
  ByteSource source_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;  // the unread part of the buffer is [begin_, end_)
  std::size_t end_ = 0;
  bool at_end_ = false;
  std::uint64_t line_number_ = 0;
  std::uint64_t bytes_read_ = 0;
};

/// The event of a line: without the array's "[" of the first line, the comma that ends it and white
/// space around. Empty for the lines "[" and "]".
std::string_view event_of_line(const Line& line);

/// True for the line that closes the array.
bool closes_array(const Line& line);

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_SOURCE_LINE_READER_H
