// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/source/line_reader.h"

#include <cstring>

namespace ringside::load {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) {
    return {};
  }
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

}  // namespace

std::optional<std::string> LineReader::open(const std::string& path) {
  buffer_.resize(kPadding);
  return source_.open(path);
}

bool LineReader::fill() {
  if (at_end_) {
    return false;
  }
  std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  if (buffer_.size() < end_ + chunk_bytes_ + kPadding) {
    buffer_.resize(end_ + chunk_bytes_ + kPadding);
  }
  const std::size_t got = source_.read(buffer_.data() + end_, chunk_bytes_);
  if (got == 0) {
    at_end_ = true;
    return false;
  }
  end_ += got;
  bytes_read_ += got;
  return true;
}

bool LineReader::next(Line& line) {
  std::size_t searched = 0;
  for (;;) {
    const char* const start = buffer_.data() + begin_;
    const std::size_t available = end_ - begin_;
    const void* const newline = std::memchr(start + searched, '\n', available - searched);
    if (newline != nullptr) {
      const auto length = static_cast<std::size_t>(static_cast<const char*>(newline) - start);
      const bool is_too_long = length > kMaxLineBytes;
      line = {{start, is_too_long ? 0 : length}, ++line_number_, true, is_too_long};
      begin_ += length + 1;
      return true;
    }
    searched = available;
    if (available > kMaxLineBytes) {
      line = {{}, ++line_number_, skip_rest_of_line(), true};
      return true;
    }
    if (!fill()) {
      break;
    }
  }
  if (begin_ == end_) {
    return false;
  }
  line = {{buffer_.data() + begin_, end_ - begin_}, ++line_number_, false, false};
  begin_ = end_;
  return true;
}

bool LineReader::skip_rest_of_line() {
  do {
    const char* const start = buffer_.data() + begin_;
    const void* const newline = std::memchr(start, '\n', end_ - begin_);
    if (newline != nullptr) {
      begin_ += static_cast<std::size_t>(static_cast<const char*>(newline) - start) + 1;
      return true;
    }
    begin_ = end_;
  } while (fill());
  return false;
}

std::string_view event_of_line(const Line& line) {
  std::string_view text = trimmed(line.text);
  if (line.number == 1 && text.starts_with('[')) {
    text = trimmed(text.substr(1));
  }
  if (text.ends_with(',')) {
    text.remove_suffix(1);
  }
  return text == "]" ? std::string_view{} : text;
}

bool closes_array(const Line& line) {
  return trimmed(line.text) == "]";
}

}  // namespace ringside::load
