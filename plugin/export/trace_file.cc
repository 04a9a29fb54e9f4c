// SPDX-License-Identifier: Apache-2.0
#include "plugin/export/trace_file.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include "plugin/record/own_descriptor.h"

namespace ringside::exporting {
namespace {

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(file, text.data(), text.size());
    if (written < 0) {
      if (errno == EINTR) {
        continue;
      }
      return false;
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

bool make_directories(const std::string& path) {
  struct stat found {};
  if (stat(path.c_str(), &found) == 0) {
    if (S_ISDIR(found.st_mode)) {
      return true;
    }
    errno = ENOTDIR;
    return false;
  }
  const std::size_t slash = path.find_last_not_of('/');
  const std::size_t above = slash == std::string::npos ? slash : path.rfind('/', slash);
  if (above != std::string::npos && above != 0 && !make_directories(path.substr(0, above))) {
    return false;
  }
  // Another rank may have made it meanwhile.
  return mkdir(path.c_str(), 0700) == 0 || (errno == EEXIST && stat(path.c_str(), &found) == 0);
}

int create_private(const std::string& path) {
  return record::own_descriptor(
      open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
}

TraceFile::~TraceFile() {
  close();
}

bool TraceFile::create(const std::string& path) {
  file_ = create_private(path);
  path_ = path;
  return file_ >= 0;
}

int TraceFile::exchange(int file, const std::string& path) {
  const int before = file_;
  file_ = file;
  path_ = path;
  bytes_ = 0;
  return before;
}

void TraceFile::add(std::string_view line, const assemble::Tally& tally) {
  buffer_.append(line);
  const auto type = static_cast<std::size_t>(tally.type);
  pending_.written[type] += tally.starts;
  pending_.merged[type] += tally.joined;
  pending_.marks += tally.marks;
  pending_.ranges += tally.ranges;
  if (buffer_.size() >= kFlushAt_bytes) {
    flush();
  }
}

bool TraceFile::flush() {
  bool ok = true;
  int reason = 0;
  if (!buffer_.empty()) {
    ok = file_ >= 0 && make_room(buffer_.size()) && write_all(file_, buffer_);
    reason = file_ >= 0 ? errno : EBADF;
    if (ok) {
      bytes_ += buffer_.size();
    } else if (file_ >= 0 && ftruncate(file_, static_cast<off_t>(bytes_)) == 0) {
      lseek(file_, 0, SEEK_END);
    }
    buffer_.clear();
  }
  for (std::size_t type = 0; type < record::kAccountTypes; ++type) {
    if (ok) {
      counts_.written[type] += pending_.written[type];
      counts_.merged[type] += pending_.merged[type];
    } else {
      counts_.dropped[type] += pending_.written[type] + pending_.merged[type];
    }
  }
  (ok ? counts_.marks : counts_.marks_dropped) += pending_.marks;
  (ok ? counts_.ranges : counts_.ranges_dropped) += pending_.ranges;
  pending_ = {};
  if (!ok) {
    first_error_ = first_error_ != 0 ? first_error_ : reason;
    errno = reason;
  }
  return ok;
}

bool TraceFile::flush_whole() {
  flush();
  errno = first_error_;
  return first_error_ == 0;
}

bool TraceFile::sync() {
  // Some file systems have nothing to do for it, and say so in this way.
  return fsync(file_) == 0 || errno == EINVAL || errno == ENOSYS;
}

void TraceFile::close() {
  if (file_ >= 0) {
    flush();
    ::close(file_);
    file_ = -1;
  }
}

bool copy_part(int file, std::uint64_t from, std::uint64_t to, TraceFile& trace) {
  std::vector<char> block(1U << 20);
  while (from < to) {
    const std::size_t want = std::min<std::uint64_t>(block.size(), to - from);
    const ssize_t got = pread(file, block.data(), want, static_cast<off_t>(from));
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      errno = got == 0 ? EIO : errno;
      return false;
    }
    trace.add({block.data(), static_cast<std::size_t>(got)}, {});
    from += static_cast<std::uint64_t>(got);
  }
  return trace.flush();
}

}  // namespace ringside::exporting
