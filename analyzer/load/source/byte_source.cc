// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/source/byte_source.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <unistd.h>
#include <vector>
#include <zlib.h>

#include "analyzer/load/source/descriptor.h"

namespace ringside::load {
namespace {

constexpr std::size_t kInputBytes = std::size_t{64} << 10;
// No trace, profile or dump is packed that well. The memory of a reader, which grows with the text,
// so has a bound that grows with the file.
constexpr std::uint64_t kMostTimesLonger = 256;
constexpr std::uint64_t kAnyText_bytes = std::uint64_t{64}
                                         << 20;  // which may be packed as it likes
constexpr int kGzipWindow = 15 + 16;  // zlib's way to ask for the largest window and gzip's header

}  // namespace

struct ByteSource::Inflater {
  Inflater() : input(kInputBytes) { ready = inflateInit2(&stream, kGzipWindow) == Z_OK; }
  ~Inflater() { inflateEnd(&stream); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  z_stream stream{};
  std::vector<char> input;
  std::uint64_t packed_bytes = 0;  // that were read
  std::uint64_t text_bytes = 0;
  bool ready = false;
  bool in_member = false;  // a member of the file has begun and not ended
  bool is_behind = false;  // nothing but zeros has come since the last member
  bool at_end = false;
};

ByteSource::ByteSource() = default;

ByteSource::~ByteSource() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
}

std::optional<std::string> ByteSource::open(const std::string& path) {
  descriptor_ = open_to_read(path);
  if (descriptor_ < 0) {
    return std::strerror(errno);
  }
  constexpr std::string_view kMagic = "\x1f\x8b";
  std::string start(kMagic.size(), '\0');
  std::size_t size = 0;
  while (size < start.size()) {
    const std::size_t got = read_file(start.data() + size, start.size() - size);
    if (got == 0) {
      break;
    }
    size += got;
  }
  start_ = start.substr(0, size);
  if (start_ == kMagic) {
    inflater_ = std::make_unique<Inflater>();
    if (!inflater_->ready) {
      return "zlib cannot begin: out of memory";
    }
  }
  return std::nullopt;
}

std::size_t ByteSource::read_file(char* bytes, std::size_t size) {
  if (!start_.empty()) {
    const std::size_t given = std::min(size, start_.size());
    std::memcpy(bytes, start_.data(), given);
    start_.erase(0, given);
    return given;
  }
  ssize_t got = 0;
  do {
    got = ::read(descriptor_, bytes, size);
  } while (got < 0 && errno == EINTR);
  if (got < 0) {
    error_ = std::strerror(errno);
  }
  return got > 0 ? static_cast<std::size_t>(got) : 0;
}

std::size_t ByteSource::read(char* text, std::size_t size) {
  if (error_) {
    return 0;
  }
  return inflater_ == nullptr ? read_file(text, size) : inflate_some(text, size);
}

std::size_t ByteSource::inflate_some(char* text, std::size_t size) {
  Inflater& inflater = *inflater_;
  z_stream& stream = inflater.stream;
  stream.next_out = reinterpret_cast<Bytef*>(text);
  stream.avail_out = static_cast<uInt>(std::min<std::size_t>(size, 1U << 30));
  const uInt wanted = stream.avail_out;
  while (stream.avail_out == wanted && !inflater.at_end && !error_) {
    if (stream.avail_in == 0) {
      const std::size_t got = read_file(inflater.input.data(), inflater.input.size());
      if (got == 0) {
        if (!error_ && inflater.in_member) {
          error_ = "the compressed data is cut off";
        }
        inflater.at_end = true;
        break;
      }
      stream.next_in = reinterpret_cast<Bytef*>(inflater.input.data());
      stream.avail_in = static_cast<uInt>(got);
      inflater.packed_bytes += got;
    }
    // As gzip does: whoever writes whole blocks pads the last one with zeros.
    while (inflater.is_behind && stream.avail_in > 0 && *stream.next_in == 0) {
      ++stream.next_in;
      --stream.avail_in;
    }
    if (stream.avail_in == 0) {
      continue;
    }
    inflater.is_behind = false;
    inflater.in_member = true;
    const int result = inflate(&stream, Z_NO_FLUSH);
    if (result == Z_STREAM_END) {
      // More may follow: gzip files can be put together.
      inflater.in_member = false;
      inflater.is_behind = true;
      inflateReset(&stream);
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      error_ = std::string("the compressed data is damaged: ") +
               (stream.msg != nullptr ? stream.msg : zError(result));
    }
  }
  inflater.text_bytes += wanted - stream.avail_out;
  if (inflater.text_bytes > std::max(kAnyText_bytes, kMostTimesLonger * inflater.packed_bytes)) {
    error_ = "the compressed data is damaged: its text is more than " +
             std::to_string(kMostTimesLonger) + " times as long";
  }
  return wanted - stream.avail_out;
}

std::string ByteSource::text(std::size_t most) {
  constexpr std::size_t kPart = std::size_t{1} << 20;
  std::string text;
  for (std::size_t got = 1; got != 0 && text.size() < most;) {
    const std::size_t before = text.size();
    text.resize(std::min(most, before + kPart));
    got = read(text.data() + before, text.size() - before);
    text.resize(before + got);
  }
  return text;
}

std::string first_bytes(const std::string& path, std::size_t most) {
  ByteSource source;
  return source.open(path) ? std::string() : source.text(most);
}

}  // namespace ringside::load
