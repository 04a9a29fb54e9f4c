// SPDX-License-Identifier: Apache-2.0
#include "plugin/posix/log.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plugin/posix/own_descriptor.h"
#include "plugin/posix/write_at_once.h"

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
  static constexpr std::size_t kMost_bytes = posix::kMostAtOnce_bytes - 1;  // without the end
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
  const std::size_t size = is_open() ? posix::write_at_once(file_, line.text()) : 0;
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
