// SPDX-License-Identifier: Apache-2.0
//
// The lines that begin in a range of a plain file, read with pread: unlike a mapping it survives
// a file that is truncated meanwhile.
#ifndef RINGSIDE_ANALYZER_LOAD_SOURCE_RANGE_READER_H
#define RINGSIDE_ANALYZER_LOAD_SOURCE_RANGE_READER_H

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "analyzer/load/source/line_reader.h"

namespace ringside::load {

/// Memory for text, which a thread uses for one range after the other.
class TextBuffer {
 public:
  /// At least so many bytes, of which the first `kept` are as they were; the others are anything.
  char* grow(std::size_t bytes, std::size_t kept);

 private:
  std::unique_ptr<char[]> bytes_;
  std::size_t size_ = 0;
};

class RangeReader {
 public:
  /// Reads the lines whose first byte is in [begin, end) of the file of this descriptor, which must
  /// stay open. Line numbers count from 1, in a range that is not the first from 2: only the first
  /// line of a file may open the array. Lines are in `buffer`.
  RangeReader(int descriptor, std::uint64_t begin, std::uint64_t end, TextBuffer& buffer);

  /// False after the last of them, and when reading fails: error() says which.
  bool next(Line& line);

  const std::optional<std::string>& error() const { return error_; }

 private:
  bool read_more();
  std::size_t find_newline(std::size_t from) const;
  bool skip_rest_of_line(std::uint64_t end);

  int descriptor_;
  std::uint64_t offset_;  // of the next byte to read
  std::uint64_t end_;
  TextBuffer& buffer_;
  char* text_ = nullptr;     // of the buffer
  std::size_t size_ = 0;     // bytes of it that are read
  std::size_t next_ = 0;     // where the next line begins
  std::uint64_t lines_ = 0;  // number of the last line given
  std::optional<std::string> error_;
};

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_SOURCE_RANGE_READER_H
