// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/line_reader.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

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

LineReader::~LineReader() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
}

std::optional<std::string> LineReader::open(const std::string& path) {
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0) {
    return std::strerror(errno);
  }
  buffer_.resize(kPadding);
  return std::nullopt;
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
  ssize_t got = 0;
  do {
    got = ::read(descriptor_, buffer_.data() + end_, chunk_bytes_);
  } while (got < 0 && errno == EINTR);
  if (got < 0) {
    error_ = std::strerror(errno);
  }
  if (got <= 0) {
    at_end_ = true;
    return false;
  }
  end_ += static_cast<std::size_t>(got);
  bytes_read_ += static_cast<std::uint64_t>(got);
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
