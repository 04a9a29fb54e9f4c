// SPDX-License-Identifier: Apache-2.0
#include "plugin/export/trace_file.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ringside::exporting {
namespace {

constexpr std::size_t kBlock_bytes = std::size_t{1} << 20;

}  // namespace

void WriteCounts::add_written(const WriteCounts& other, int times) {
  const auto factor = static_cast<std::uint64_t>(times);  // modulo 2^64
  for (std::size_t type = 0; type < written.size(); ++type) {
    written[type] += factor * other.written[type];
    merged[type] += factor * other.merged[type];
  }
  operations += factor * other.operations;
}

void WriteCounts::add_dropped(const WriteCounts& other) {
  for (std::size_t type = 0; type < dropped.size(); ++type) {
    dropped[type] += other.written[type] + other.merged[type];
  }
}

Result write_at(int file, std::uint64_t offset, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = pwrite(file, text.data(), text.size(), static_cast<off_t>(offset));
    if (written < 0) {
      if (errno == EINTR) {
        continue;
      }
      return Result(errno);
    }
    if (written == 0) {
      return Result(EIO);
    }
    text.remove_prefix(static_cast<std::size_t>(written));
    offset += static_cast<std::uint64_t>(written);
  }
  return {};
}

Result make_directories(const std::string& path) {
  struct stat found {};
  if (stat(path.c_str(), &found) == 0) {
    return Result(S_ISDIR(found.st_mode) ? 0 : ENOTDIR);
  }
  const std::size_t slash = path.find_last_not_of('/');
  const std::size_t above = slash == std::string::npos ? slash : path.rfind('/', slash);
  if (above != std::string::npos && above != 0) {
    if (Result made = make_directories(path.substr(0, above)); !made.is_ok()) {
      return made;
    }
  }
  // Another rank may have made it meanwhile.
  return Result::of_call(mkdir(path.c_str(), 0700) == 0 ||
                         (errno == EEXIST && stat(path.c_str(), &found) == 0));
}

Result create_private(std::string path, OpenFile& file) {
  const int made = posix::own_descriptor(
      [&] { return open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600); });
  Result result = Result::of_call(made >= 0);
  file = OpenFile(made, std::move(path));
  return result;
}

OpenFile::OpenFile(int descriptor, std::string path) noexcept
    : descriptor_(descriptor), file_(descriptor), path_(std::move(path)) {}

OpenFile& OpenFile::operator=(OpenFile&& other) noexcept {
  static_cast<void>(close());
  descriptor_ = std::exchange(other.descriptor_, -1);
  file_ = other.file_;
  path_ = std::move(other.path_);
  return *this;
}

Result OpenFile::check() noexcept {
  if (descriptor_ >= 0 && !file_.is_of(descriptor_)) {
    const int again = duplicate();
    descriptor_ = again >= 0 ? again : descriptor_;
  }
  return Result(file_.is_of(descriptor_) ? 0 : EBADF);
}

int OpenFile::duplicate() const noexcept {
  if (file_.is_of(descriptor_)) {
    return posix::own_copy(descriptor_);
  }
  const auto open_again = [this] { return open(path_.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC); };
  errno = ENOENT;
  return is_in_place() ? posix::own_descriptor(open_again) : -1;
}

bool OpenFile::is_in_place() const noexcept {
  struct stat found {};
  return !path_.empty() && lstat(path_.c_str(), &found) == 0 && file_.is_of(found);
}

Result OpenFile::close() noexcept {
  Result closed;
  if (descriptor_ >= 0) {
    closed = check();
    if (closed.is_ok()) {
      // Linux has closed it also if it was interrupted.
      closed = Result::of_call(::close(descriptor_) == 0 || errno == EINTR);
    }
    descriptor_ = -1;
  }
  return closed;
}

TraceFile::~TraceFile() {
  static_cast<void>(close());
}

OpenFile TraceFile::exchange(OpenFile file, std::uint64_t bytes,
                             std::uint64_t text_bytes) noexcept {
  bytes_ = bytes;
  text_bytes_ = text_bytes;
  return std::exchange(file_, std::move(file));
}

void TraceFile::add(std::string_view line, const assemble::Tally& tally) {
  append(line, tally);
  if (has_much()) {
    static_cast<void>(flush());  // a loss is counted
  }
}

void TraceFile::append(std::string_view line, const assemble::Tally& tally) {
  buffer_.append(line);
  const auto type = static_cast<std::size_t>(tally.type);
  pending_.written[type] += tally.starts;
  pending_.merged[type] += tally.joined;
  if (tally.starts + tally.joined != 0) {
    event_tally_ = tally;
  }
}

void TraceFile::drop_event(const assemble::Tally& tally) noexcept {
  buffer_.resize(std::min(event_begin_, buffer_.size()));
  const auto counted = static_cast<std::size_t>(event_tally_.type);
  pending_.written[counted] -= event_tally_.starts;
  pending_.merged[counted] -= event_tally_.joined;
  event_tally_ = {};
  counts_.dropped_memory[static_cast<std::size_t>(tally.type)] += tally.starts + tally.joined;
}

Result TraceFile::encode(std::string_view text, std::string_view& stored) {
  stored = text;
  return gzip_ != nullptr ? gzip_->compress(text, stored) : Result();
}

Result TraceFile::write(std::string_view text) {
  std::string_view stored;
  Result result = encode(text, stored)
                      .then([&] { return make_room(stored.size()); })
                      .then([&] { return file_.check(); })
                      .then([&] { return write_at(file_.descriptor(), bytes_, stored); });
  if (result.is_ok()) {
    bytes_ += stored.size();
    text_bytes_ += text.size();
  } else if (file_.check().is_ok() &&
             ftruncate(file_.descriptor(), static_cast<off_t>(bytes_)) != 0) {
    result = Result(errno);  // the next write goes to the same offset anyway
  }
  return result;
}

Result TraceFile::flush() {
  Result result;
  if (!buffer_.empty()) {
    result = write(buffer_);
    buffer_.clear();
  }
  result.is_ok() ? counts_.add_written(pending_) : counts_.add_dropped(pending_);
  pending_ = {};
  first_error_ = first_error_ != 0 ? first_error_ : result.error();
  return result;
}

Result TraceFile::flush_whole() {
  static_cast<void>(flush());
  return Result(first_error_);
}

Result TraceFile::store() {
  Result whole = flush_whole();
  // Some file systems have nothing to do for fdatasync and return one of these errors.
  if (whole.is_ok() && fdatasync(file_.descriptor()) != 0 && errno != EINVAL && errno != ENOSYS) {
    whole = Result(errno);
  }
  const Result closed = close();
  return whole.is_ok() ? closed : whole;
}

Result TraceFile::close() {
  const Result whole = flush_whole();
  const Result closed = file_.close();
  return whole.is_ok() ? closed : whole;
}

void TraceFile::lose(const WriteCounts& counts) {
  counts_.add_written(counts, -1);
  counts_.add_dropped(counts);
}

// If the file system lacks RENAME_NOREPLACE, a hard link and an unlink do the same.
Result give_name(const std::string& from, const std::string& to) {
  return Result::of_call(
      renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0 ||
      ((errno == EINVAL || errno == ENOSYS) && link(from.c_str(), to.c_str()) == 0 &&
       unlink(from.c_str()) == 0));
}

Result TracePart::copy_to(TraceFile& trace, const std::function<bool()>& is_wanted) const {
  TextReader reader(file_.descriptor());
  if (Result skipped = reader.skip(from_); !skipped.is_ok()) {
    return skipped;
  }
  std::vector<char> block(kBlock_bytes);
  for (std::uint64_t left = to_ - from_; left > 0;) {
    if (!is_wanted()) {
      return Result(ECANCELED);
    }
    std::size_t got = 0;
    Result read = reader.read(block.data(), std::min<std::uint64_t>(block.size(), left), got);
    if (!read.is_ok() || got == 0) {
      return read.is_ok() ? Result(EIO) : read;
    }
    trace.add({block.data(), got}, {});
    left -= got;
  }
  return trace.flush();
}

Result TraceSnapshot::copy_to(TraceFile& trace, const std::function<bool()>& is_wanted) const {
  trace.add(head, {});
  for (const TracePart& part : parts) {
    if (Result copied = part.copy_to(trace, is_wanted); !copied.is_ok()) {
      return copied;
    }
  }
  for (std::size_t at = 0; at < tail.size(); at += kBlock_bytes) {
    if (!is_wanted()) {
      return Result(ECANCELED);
    }
    trace.add(std::string_view(tail).substr(at, kBlock_bytes), {});
  }
  return trace.flush_whole();
}

}  // namespace ringside::exporting
