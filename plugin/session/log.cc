// SPDX-License-Identifier: Apache-2.0
#include "plugin/session/log.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <mutex>
#include <spdlog/logger.h>
#include <spdlog/sinks/base_sink.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plugin/record/own_descriptor.h"

namespace ringside::control {
namespace {

// Appends to a file that is open. spdlog's own sink would open the file once more by its name,
// which may be a link by then, and would follow it.
class DescriptorSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit DescriptorSink(int file) : file_(file) {}
  ~DescriptorSink() override {
    if (file_ != STDERR_FILENO) {
      close(file_);
    }
  }
  DescriptorSink(const DescriptorSink&) = delete;
  DescriptorSink& operator=(const DescriptorSink&) = delete;

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    // In one piece, so that lines of several processes do not mix. A line that cannot be written is
    // lost.
    while (write(file_, line.data(), line.size()) < 0 && errno == EINTR) {
    }
  }
  void flush_() override {}

  const int file_;
};

// -1, and errno. The file is made private to the user; neither a link nor another user's file is
// taken, who would read along or has put it there. Nor is a pipe: one that nobody reads would hold
// up the application, one that nobody reads any more would end it by SIGPIPE.
int open_log(const std::string& path) {
  const int file = record::own_descriptor(open(
      path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600));
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

}  // namespace

// A logger of our own, never registered: the application may use spdlog too.
struct Log::Implementation {
  spdlog::logger logger;
  explicit Implementation(spdlog::sink_ptr sink) : logger("ringside", std::move(sink)) {
    logger.set_pattern("%Y-%m-%d %H:%M:%S.%e ringside[%P] %l: %v");
    logger.flush_on(spdlog::level::info);
    logger.set_error_handler([](const std::string&) {});
  }
};

Log::Log(const std::string& target) {
  std::string trouble;
  if (target != "stderr") {
    if (const int file = open_log(target); file >= 0) {
      implementation_ = std::make_unique<Implementation>(std::make_shared<DescriptorSink>(file));
      file_ = file;
      return;
    }
    trouble = std::strerror(errno);
  }
  // spdlog's own sink has a lock for the process, which in the child of a fork may be held for
  // ever.
  implementation_ =
      std::make_unique<Implementation>(std::make_shared<DescriptorSink>(STDERR_FILENO));
  if (!trouble.empty()) {
    warn("RINGSIDE_LOG=" + target + " cannot be written (" + trouble +
         "); messages go to stderr instead");
  }
}

Log::~Log() = default;

// spdlog's own handler of exceptions makes a text, and may throw once more.
void Log::info(std::string_view message) noexcept {
  try {
    implementation_->logger.info(spdlog::string_view_t(message.data(), message.size()));
  } catch (...) {
  }
}

void Log::warn(std::string_view message) noexcept {
  try {
    implementation_->logger.warn(spdlog::string_view_t(message.data(), message.size()));
  } catch (...) {
  }
}

void Log::warn_plainly(const char* message) noexcept {
  std::array<char, 512> line;
  const int size = std::snprintf(line.data(), line.size(), "ringside[%d] warning: %s\n",
                                 static_cast<int>(getpid()), message);
  const auto most = static_cast<int>(line.size()) - 1;
  while (size > 0 &&
         write(file_, line.data(), static_cast<std::size_t>(std::min(size, most))) < 0 &&
         errno == EINTR) {
  }
}

}  // namespace ringside::control
