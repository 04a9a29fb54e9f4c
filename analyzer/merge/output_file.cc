// SPDX-License-Identifier: Apache-2.0
#include "analyzer/merge/output_file.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "analyzer/model/printable.h"

namespace ringside::merge {
namespace {

constexpr std::size_t kBuffer_bytes = std::size_t{1} << 16;  // as much is written as it is

}  // namespace

OutputFile::OutputFile(std::string path, bool replace)
    : path_(std::move(path)), replaces_(replace) {
  if (path_ == "-") {
    path_ = "stdout";
    descriptor_ = STDOUT_FILENO;
    is_terminal_ = ::isatty(STDOUT_FILENO) != 0;
    return;
  }
  struct stat status {};
  // A link stays what it is: the file that it names is replaced.
  if (replace && ::lstat(path_.c_str(), &status) == 0 && S_ISLNK(status.st_mode)) {
    std::error_code error;
    const std::filesystem::path file = std::filesystem::canonical(path_, error);
    if (error) {
      error_ = path_ + " is a symbolic link to no file";
      return;
    }
    path_ = file.string();
  }
  if (!replace && ::lstat(path_.c_str(), &status) == 0) {
    error_ = path_ + " exists; --force replaces it";
    return;
  }
  if (replace && ::stat(path_.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    error_ = path_ + " is not a file";
    return;
  }
  // An earlier attempt that was killed may have left it.
  const char* const partial = partial_.emplace(path_ + ".partial").path().c_str();
  ::unlink(partial);
  descriptor_ = ::open(partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (descriptor_ < 0) {
    fail(path_ + " cannot be made");
    partial_->forget();
  }
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0 && partial_) {
    ::close(descriptor_);
  }
}

void OutputFile::fail(const std::string& what) {
  if (error_.empty()) {
    error_ = what + ": " + std::strerror(errno);  // NOLINT(concurrency-mt-unsafe): one thread
  }
}

void OutputFile::write(std::string_view bytes) {
  bytes_ += bytes.size();
  if (bytes.size() >= kBuffer_bytes && !is_terminal_) {
    flush(buffer_.size());
    write_all(bytes);
    return;
  }
  buffer_ += bytes;
  if (buffer_.size() >= kBuffer_bytes) {
    flush(buffer_.rfind('\n') + 1);
  }
}

void OutputFile::flush(std::size_t size) {
  // Whole lines, where there are any: a character in two parts would not be printable.
  size = size == 0 ? buffer_.size() : size;
  const std::string safe =
      is_terminal_ ? model::printable_lines(std::string_view(buffer_).substr(0, size)) : "";
  write_all(is_terminal_ ? safe : std::string_view(buffer_).substr(0, size));
  buffer_.erase(0, size);
}

void OutputFile::write_all(std::string_view rest) {
  while (!rest.empty() && error_.empty()) {
    const ssize_t written = ::write(descriptor_, rest.data(), rest.size());
    if (written < 0 && errno != EINTR) {
      fail(path_ + " cannot be written");
    }
    rest.remove_prefix(written > 0 ? static_cast<std::size_t>(written) : 0);
  }
}

bool OutputFile::finish() {
  flush(buffer_.size());
  if (!error_.empty()) {
    return false;
  }
  if (!partial_) {
    return true;
  }
  const char* const partial = partial_->path().c_str();
  // link() fails where rename() would replace what another process has made meanwhile.
  if (replaces_ ? ::rename(partial, path_.c_str()) != 0 : ::link(partial, path_.c_str()) != 0) {
    fail(path_ + " cannot be made");
    return false;
  }
  if (!replaces_) {
    ::unlink(partial);
  }
  partial_->forget();
  const bool is_closed = ::close(std::exchange(descriptor_, -1)) == 0;
  if (!is_closed) {
    fail(path_ + " cannot be written");
  }
  return is_closed;
}

}  // namespace ringside::merge
