// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/range_reader.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <unistd.h>
#include <utility>

namespace ringside::load {
namespace {

constexpr std::size_t kMoreBytes = std::size_t{64} << 10;

}  // namespace

char* TextBuffer::grow(std::size_t bytes, std::size_t kept) {
  if (size_ < bytes) {
    size_ = std::max(bytes, size_ + size_ / 2);
    auto larger = std::make_unique_for_overwrite<char[]>(size_);
    if (kept > 0) {
      std::memcpy(larger.get(), bytes_.get(), kept);
    }
    bytes_ = std::move(larger);
  }
  return bytes_.get();
}

RangeReader::RangeReader(int descriptor, std::uint64_t begin, std::uint64_t end, TextBuffer& buffer)
    : descriptor_(descriptor), offset_(begin), end_(end), buffer_(buffer) {
  // One byte before the range tells whether a line begins with it.
  const bool is_first = begin == 0;
  lines_ = is_first ? 0 : 1;
  offset_ -= is_first ? 0 : 1;
  const auto wanted = static_cast<std::size_t>(end_ - offset_);
  limit_ = wanted;
  while (size_ < wanted && read_more(wanted - size_)) {
  }
  if (limit_ > size_) {
    limit_ = size_;
  }
  if (!is_first) {
    const void* const newline = size_ == 0 ? nullptr : std::memchr(text_, '\n', limit_);
    next_ = newline == nullptr
                ? limit_
                : static_cast<std::size_t>(static_cast<const char*>(newline) - text_) + 1;
  }
}

// False at the end of the file too.
bool RangeReader::read_more(std::size_t size) {
  text_ = buffer_.grow(size_ + size + LineReader::kPadding, size_);
  ssize_t got = 0;
  do {
    got = ::pread(descriptor_, text_ + size_, size, static_cast<off_t>(offset_));
  } while (got < 0 && errno == EINTR);
  if (got < 0) {
    error_ = std::strerror(errno);
  }
  if (got <= 0) {
    return false;
  }
  size_ += static_cast<std::size_t>(got);
  offset_ += static_cast<std::uint64_t>(got);
  return true;
}

bool RangeReader::find_newline(std::size_t from, std::size_t& at) {
  const void* const newline = std::memchr(text_ + from, '\n', size_ - from);
  if (newline == nullptr) {
    return false;
  }
  at = static_cast<std::size_t>(static_cast<const char*>(newline) - text_);
  return true;
}

bool RangeReader::skip_rest_of_line() {
  size_ = 0;
  while (read_more(kMoreBytes)) {
    std::size_t ignored = 0;
    if (find_newline(0, ignored)) {
      return true;
    }
    size_ = 0;
  }
  return false;
}

bool RangeReader::next(Line& line) {
  if (next_ >= limit_ || error_) {
    return false;
  }
  std::size_t newline = 0;
  std::size_t searched = next_;
  bool has_newline = find_newline(searched, newline);
  while (!has_newline && size_ - next_ <= LineReader::kMaxLineBytes) {
    searched = size_;
    if (!read_more(kMoreBytes)) {
      break;
    }
    has_newline = find_newline(searched, newline);
  }
  if (error_) {
    return false;
  }
  ++lines_;
  const std::size_t length = (has_newline ? newline : size_) - next_;
  if (length <= LineReader::kMaxLineBytes) {
    line = {{text_ + next_, length}, lines_, has_newline, false};
    next_ += length + 1;
    return true;
  }
  next_ = has_newline ? newline + 1 : limit_;
  line = {{}, lines_, has_newline || skip_rest_of_line(), true};
  return !error_;
}

}  // namespace ringside::load
