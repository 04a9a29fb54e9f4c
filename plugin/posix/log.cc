// SPDX-License-Identifier: Apache-2.0
#include "plugin/posix/log.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plugin/posix/undisturbed.h"

namespace ringside::posix {
namespace {

// -1, and errno. The file is made private to the user; neither a link nor another user's file is
// taken, who would read along or has put it there. Nor is a pipe, which only a reader keeps in
// being.
int open_log(const char* path) noexcept {
  const int file = posix::own_descriptor([path] {
    return open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
  });
  struct stat about {};
  const bool is_fit =
      file >= 0 && fstat(file, &about) == 0 &&
      (S_ISCHR(about.st_mode) || (S_ISREG(about.st_mode) && about.st_uid == geteuid()));
  if (file >= 0 && !is_fit) {
    close(file);
    errno = EPERM;
    return -1;
  }
  return file;
}

// What a pipe takes as a whole or not at all.
constexpr std::size_t kMostAtOnce_bytes = 4096;

template <typename Call>
std::size_t written(Call call) noexcept {
  ssize_t size = -1;
  do {
    size = call();
  } while (size < 0 && errno == EINTR);
  return size > 0 ? static_cast<std::size_t>(size) : 0;
}

// The same pipe or terminal, opened once more: O_NONBLOCK belongs to the opening, and the
// application shares the one behind `file`.
int open_again(int file) noexcept {
  std::array<char, 32> path;
  std::snprintf(path.data(), path.size(), "/proc/self/fd/%d", file);
  return own_descriptor(
      [&] { return open(path.data(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC); });
}

bool has_room(int file) noexcept {
  pollfd room{file, POLLOUT, 0};
  return poll(&room, 1, 0) == 1 && (room.revents & POLLOUT) != 0;
}

// Writes to a file that the application shares with the plugin, such as standard error: behind it
// may be a pipe that is full, or that nobody reads any more. Writes what the file takes at once, of
// kMostAtOnce_bytes at most. Never waits for a reader, and raises no signal. Does not change how
// the application writes to the same file. Returns how many bytes were written; 0 if none were.
std::size_t write_at_once(int file, std::string_view bytes) noexcept {
  const SilentCalls silent;
  bytes = bytes.substr(0, kMostAtOnce_bytes);
  const auto write_to = [&](int target) {
    return written([&] { return write(target, bytes.data(), bytes.size()); });
  };
  struct stat about {};
  if (fstat(file, &about) != 0) {
    return 0;
  }
  if (S_ISREG(about.st_mode)) {
    return write_to(file);
  }
  if (S_ISSOCK(about.st_mode)) {
    return written(
        [&] { return send(file, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL); });
  }
  if (const int own = open_again(file); own >= 0) {
    const std::size_t size = write_to(own);
    close(own);
    return size;
  }
  if (errno == ENXIO) {
    return 0;  // a pipe that nobody reads
  }
  // It may not be opened: without /proc, or if the process has become another user. Only here may
  // another writer take the room between the question and the write.
  return has_room(file) ? write_to(file) : 0;
}

class LogLine {
 public:
  template <typename... Values>
  void format(const char* form, Values... values) noexcept {
    const int size = std::snprintf(text_.data() + size_, text_.size() - size_, form, values...);
    size_ = std::min(size_ + static_cast<std::size_t>(std::max(size, 0)), kMost_bytes);
  }
  // In UTC: the local time is asked for under a lock of the C library.
  void begin(const char* level) noexcept {
    using namespace std::chrono;
    const auto now = floor<milliseconds>(system_clock::now());
    const auto day = floor<days>(now);
    const year_month_day date(day);
    const hh_mm_ss time(now - day);
    format("%04d-%02u-%02u %02d:%02d:%02d.%03dZ ringside[%d] %s: ", static_cast<int>(date.year()),
           static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
           static_cast<int>(time.hours().count()), static_cast<int>(time.minutes().count()),
           static_cast<int>(time.seconds().count()), static_cast<int>(time.subseconds().count()),
           static_cast<int>(getpid()), level);
  }
  void add(std::string_view text) noexcept {
    const std::size_t size = std::min(text.size(), kMost_bytes - size_);
    std::memcpy(text_.data() + size_, text.data(), size);
    size_ += size;
  }
  void end() noexcept { text_[size_++] = '\n'; }
  std::string_view text() const noexcept { return {text_.data(), size_}; }

 private:
  static constexpr std::size_t kMost_bytes = kMostAtOnce_bytes - 1;  // without the end
  std::array<char, kMost_bytes + 1> text_;
  std::size_t size_ = 0;
};

}  // namespace

Log::Log(const char* target) noexcept : file_(STDERR_FILENO) {
  if (std::strcmp(target, "stderr") == 0) {
    return;
  }
  if (const int file = open_log(target); file >= 0) {
    file_ = file;
    identity_ = FileIdentity(file);
  } else {
    std::array<char, 1024> line;
    std::snprintf(line.data(), line.size(),
                  "RINGSIDE_LOG=%s cannot be written (%s); messages go to stderr instead", target,
                  std::strerror(errno));
    warn(line.data());
  }
}

Log::~Log() {
  if (file_ != STDERR_FILENO && is_open()) {
    close(file_);
  }
}

bool Log::is_open() const noexcept {
  return file_ == STDERR_FILENO || identity_.is_of(file_);
}

// In one piece, so that lines of several processes do not mix.
void Log::write_line(const char* level, std::string_view message) noexcept {
  LogLine line;
  const std::uint64_t lost = lost_.exchange(0, std::memory_order_relaxed);
  if (is_torn_.load(std::memory_order_relaxed)) {
    line.add("\n");
  }
  if (lost != 0) {
    line.begin("warning");
    line.format("%llu lines before this one could not be written\n",
                static_cast<unsigned long long>(lost));
  }
  line.begin(level);
  line.add(message);
  line.end();
  const std::size_t size = is_open() ? write_at_once(file_, line.text()) : 0;
  if (size == line.text().size()) {
    is_torn_.store(false, std::memory_order_relaxed);
    return;
  }
  lost_.fetch_add(lost + 1, std::memory_order_relaxed);
  if (size != 0) {
    is_torn_.store(true, std::memory_order_relaxed);
  }
}

}  // namespace ringside::posix
