// SPDX-License-Identifier: Apache-2.0
#include "plugin/export/gzip.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <dlfcn.h>
#include <limits>
#include <new>
#include <unistd.h>
#include <vector>
#include <zlib.h>

#include "plugin/posix/descriptors.h"

namespace ringside::exporting {
namespace {

constexpr int kLevel = 1;                    // the fastest
constexpr int kGzipWindow = MAX_WBITS + 16;  // the largest window, with gzip's header
constexpr int kMemoryLevel = 8;

// The part of zlib that we use. It is the same since zlib 1.2.4.
struct Zlib {
  decltype(&::deflateInit2_) deflate_init = nullptr;
  decltype(&::deflateBound) deflate_bound = nullptr;
  decltype(&::deflateReset) deflate_reset = nullptr;
  decltype(&::deflate) deflate = nullptr;
  decltype(&::deflateEnd) deflate_end = nullptr;
  void* (*gzdopen)(int, const char*) = nullptr;
  int (*gzread)(void*, void*, unsigned) = nullptr;
  int (*gzclose)(void*) = nullptr;
  bool complete = false;

  Zlib() {
    void* library = dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      return;
    }
    const auto find = [&](auto& function, const char* name) {
      function =
          reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      return function != nullptr;
    };
    complete = find(deflate_init, "deflateInit2_") && find(deflate_bound, "deflateBound") &&
               find(deflate_reset, "deflateReset") && find(deflate, "deflate") &&
               find(deflate_end, "deflateEnd") && find(gzdopen, "gzdopen") &&
               find(gzread, "gzread") && find(gzclose, "gzclose");
  }
};

const Zlib& zlib() {
  static const Zlib loaded;
  return loaded;
}

}  // namespace

bool has_zlib() {
  return zlib().complete;
}

GzipMembers::GzipMembers() : stream_(std::make_unique<z_stream_s>()) {}

GzipMembers::~GzipMembers() {
  if (has_begun_) {
    zlib().deflate_end(stream_.get());
  }
}

Result GzipMembers::compress(std::string_view text, std::string_view& member) noexcept {
  if (!has_zlib()) {
    return Result(ENOSYS);
  }
  z_stream& stream = *stream_;
  has_begun_ =
      has_begun_ || zlib().deflate_init(&stream, kLevel, Z_DEFLATED, kGzipWindow, kMemoryLevel,
                                        Z_DEFAULT_STRATEGY, ZLIB_VERSION, sizeof stream) == Z_OK;
  if (!has_begun_ || zlib().deflate_reset(&stream) != Z_OK) {
    return Result(ENOMEM);
  }
  try {
    member_.resize(zlib().deflate_bound(&stream, text.size()));
  } catch (const std::bad_alloc&) {
    return Result(ENOMEM);
  }
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(member_.data());
  stream.avail_out = static_cast<uInt>(member_.size());
  if (zlib().deflate(&stream, Z_FINISH) != Z_STREAM_END) {
    return Result(EIO);
  }
  member = std::string_view(member_).substr(0, stream.total_out);
  return {};
}

TextReader::TextReader(int file) : file_(file) {
  constexpr std::array<unsigned char, 2> kMagic{0x1F, 0x8B};
  std::array<unsigned char, 2> begin{};
  is_compressed_ = pread(file, begin.data(), begin.size(), 0) == 2 && begin == kMagic;
  if (!is_compressed_ || !has_zlib() || lseek(file, 0, SEEK_SET) != 0) {
    return;
  }
  const int given = posix::own_copy(file);  // zlib closes it
  gzip_ = given >= 0 ? zlib().gzdopen(given, "rb") : nullptr;
  if (gzip_ == nullptr && given >= 0) {
    close(given);
  }
}

TextReader::~TextReader() {
  if (gzip_ != nullptr) {
    zlib().gzclose(gzip_);
  }
}

Result TextReader::read(char* text, std::size_t bytes, std::size_t& got) {
  got = 0;
  if (is_compressed_ && gzip_ == nullptr) {
    return Result(has_zlib() ? ENOMEM : ENOSYS);
  }
  bytes = std::min<std::size_t>(bytes, std::numeric_limits<int>::max());
  ssize_t read = 0;
  do {
    read = is_compressed_ ? zlib().gzread(gzip_, text, static_cast<unsigned>(bytes))
                          : pread(file_, text, bytes, static_cast<off_t>(offset_));
  } while (read < 0 && !is_compressed_ && errno == EINTR);
  if (read < 0) {
    return Result(is_compressed_ ? EIO : errno);
  }
  got = static_cast<std::size_t>(read);
  offset_ += got;
  return {};
}

Result TextReader::skip(std::uint64_t bytes) {
  if (!is_compressed_) {
    offset_ += bytes;
    return {};
  }
  std::vector<char> passed(std::min<std::uint64_t>(bytes, std::uint64_t{1} << 18));
  for (std::size_t got = 0; bytes > 0; bytes -= got) {
    Result read_some = read(passed.data(), std::min<std::uint64_t>(bytes, passed.size()), got);
    if (!read_some.is_ok() || got == 0) {
      return read_some.is_ok() ? Result(EIO) : read_some;
    }
  }
  return {};
}

}  // namespace ringside::exporting
