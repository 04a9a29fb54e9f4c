// SPDX-License-Identifier: Apache-2.0
#include "plugin/export/gzip.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <dlfcn.h>
#include <fcntl.h>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "plugin/record/own_descriptor.h"

namespace ringside::exporting {
namespace {

// The part of zlib's interface that we use. It is stable since zlib 1.2.4.
struct Zlib {
  void* (*gzdopen)(int, const char*) = nullptr;
  int (*gzwrite)(void*, const void*, unsigned) = nullptr;
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
    complete = find(gzdopen, "gzdopen") && find(gzwrite, "gzwrite") && find(gzread, "gzread") &&
               find(gzclose, "gzclose");
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

GzipWriter::GzipWriter(std::string path)
    : path_(std::move(path)), temporary_(path_ + ".gz.tmp"), piece_(kPiece_bytes) {
  source_ = record::own_descriptor(open(path_.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (source_ < 0 || !create_private(temporary_, target_).is_ok()) {
    return;
  }
  // zlib closes the descriptor that it gets. We keep our own to query the file's size.
  given_ = record::own_descriptor(fcntl(target_, F_DUPFD_CLOEXEC, 0));
  gzip_ = given_ >= 0 ? zlib().gzdopen(given_, "wb1") : nullptr;
  if (gzip_ == nullptr && given_ >= 0) {
    close(given_);
  }
}

GzipWriter::~GzipWriter() {
  if (gzip_ != nullptr) {
    // gzclose writes the rest of its buffer. There may be no room for it, so it goes to /dev/null.
    if (const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC); nowhere >= 0) {
      dup3(nowhere, given_, O_CLOEXEC);
      close(nowhere);
    }
    zlib().gzclose(gzip_);
  }
  if (target_ >= 0) {
    close(target_);
    unlink(temporary_.c_str());  // does nothing if the file was renamed
  }
  if (source_ >= 0) {
    close(source_);
  }
}

std::uint64_t GzipWriter::written_bytes() const {
  struct stat found {};
  return fstat(target_, &found) == 0 ? static_cast<std::uint64_t>(found.st_size) : 0;
}

GzipWriter::Progress GzipWriter::step() {
  ssize_t got = 0;
  do {
    got = read(source_, piece_.data(), piece_.size());
  } while (got < 0 && errno == EINTR);
  if (got == 0) {
    return finish() ? Progress::kDone : Progress::kFailed;
  }
  const bool ok =
      got > 0 && zlib().gzwrite(gzip_, piece_.data(), static_cast<unsigned>(got)) == got;
  return ok ? Progress::kMore : Progress::kFailed;
}

bool GzipWriter::finish() {
  const int result = zlib().gzclose(gzip_);
  gzip_ = nullptr;
  return result == 0 && give_name(temporary_, path_ + ".gz").is_ok();
}

Result copy_gzip_part(int file, std::uint64_t from, std::uint64_t to, TraceFile& trace,
                      const std::function<bool()>& is_wanted) {
  if (!has_zlib()) {
    return Result(ENOSYS);
  }
  const int given = record::own_descriptor(fcntl(file, F_DUPFD_CLOEXEC, 0));  // zlib closes it
  if (given < 0) {
    return Result(errno);
  }
  Result opened = Result::of_call(lseek(given, 0, SEEK_SET) == 0);
  void* const gzip = opened.is_ok() ? zlib().gzdopen(given, "rb") : nullptr;
  if (gzip == nullptr) {
    close(given);
    return opened.is_ok() ? Result(ENOMEM) : opened;
  }
  std::unique_ptr<void, int (*)(void*)> closing(gzip, zlib().gzclose);
  std::vector<char> piece(GzipWriter::kPiece_bytes);
  std::uint64_t at = 0;
  while (at < to) {
    if (!is_wanted()) {
      return Result(ECANCELED);
    }
    const std::uint64_t want =
        std::min<std::uint64_t>(piece.size(), at < from ? from - at : to - at);
    const int got = zlib().gzread(gzip, piece.data(), static_cast<unsigned>(want));
    if (got <= 0) {
      return Result(EIO);
    }
    if (at >= from) {
      trace.add({piece.data(), static_cast<std::size_t>(got)}, {});
    }
    at += static_cast<std::uint64_t>(got);
  }
  return {};
}

}  // namespace ringside::exporting
