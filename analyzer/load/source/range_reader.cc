// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/source/range_reader.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <unistd.h>
#include <utility>

namespace ringside::load {
namespace {

// So many bytes, read at once, are still in the core's cache when their lines are parsed.
constexpr std::size_t kChunkBytes = std::size_t{256} << 10;
constexpr std::uint64_t kEndBytes = std::uint64_t{64} << 10;  // behind the range

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
  if (begin > 0) {
    // One byte before the range tells whether a line begins with it.
    offset_ = begin - 1;
    lines_ = 1;
    skip_rest_of_line(end);
  }
}

// Puts the unread bytes at the start of the buffer, and more behind them. Returns false if reading
// fails, and at the end of the file, too.
bool RangeReader::read_more() {
  const std::size_t kept = size_ - next_;
  text_ = buffer_.grow(kept + kChunkBytes + LineReader::kPadding, size_);
  std::memmove(text_, text_ + next_, kept);
  next_ = 0;
  size_ = kept;
  // The bytes behind the range belong to another one, but for the end of a line.
  const std::uint64_t left = offset_ < end_ ? end_ - offset_ : kEndBytes;
  const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(left, kChunkBytes));
  ssize_t got = 0;
  do {
    got = ::pread(descriptor_, text_ + size_, wanted, static_cast<off_t>(offset_));
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

// The index of the next newline at `from` or behind it; size_ if there is none yet.
std::size_t RangeReader::find_newline(std::size_t from) const {
  if (from >= size_) {
    return size_;
  }
  const void* const newline = std::memchr(text_ + from, '\n', size_ - from);
  return newline == nullptr ? size_
                            : static_cast<std::size_t>(static_cast<const char*>(newline) - text_);
}

// Returns false if the file, or its part before `end`, ends before the line does.
bool RangeReader::skip_rest_of_line(std::uint64_t end) {
  for (;;) {
    const std::size_t newline = find_newline(next_);
    if (newline < size_) {
      next_ = newline + 1;
      return true;
    }
    next_ = size_;
    if (offset_ >= end || !read_more()) {
      return false;
    }
  }
}

bool RangeReader::next(Line& line) {
  if (offset_ - (size_ - next_) >= end_ || error_) {
    return false;
  }
  std::size_t newline = find_newline(next_);
  while (newline == size_ && size_ - next_ <= LineReader::kMaxLineBytes) {
    const std::size_t searched = size_ - next_;
    const bool has_more = read_more();
    newline = find_newline(searched);
    if (!has_more) {
      break;
    }
  }
  if (error_ || next_ == size_) {
    return false;
  }
  ++lines_;
  const bool has_newline = newline < size_;
  const std::size_t length = newline - next_;
  if (length <= LineReader::kMaxLineBytes) {
    line = {{text_ + next_, length}, lines_, has_newline, false};
    next_ = has_newline ? newline + 1 : size_;
    return true;
  }
  line = {{}, lines_, skip_rest_of_line(std::numeric_limits<std::uint64_t>::max()), true};
  return !error_;
}

}  // namespace ringside::load
