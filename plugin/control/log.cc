// SPDX-License-Identifier: Apache-2.0
#include "plugin/control/log.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <unistd.h>

namespace ringside::control {

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
    // Made here, private to the user and not through a link; the sink then appends to it.
    const int file =
        open(target.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file >= 0) {
      ::close(file);
      try {
        implementation_ = std::make_unique<Implementation>(
            std::make_shared<spdlog::sinks::basic_file_sink_mt>(target, false));
        return;
      } catch (const std::exception& error) {
        trouble = error.what();
      }
    } else {
      trouble = std::strerror(errno);
    }
  }
  implementation_ =
      std::make_unique<Implementation>(std::make_shared<spdlog::sinks::stderr_sink_mt>());
  if (!trouble.empty()) {
    warn("RINGSIDE_LOG=" + target + " cannot be written (" + trouble +
         "); messages go to stderr instead");
  }
}

Log::~Log() = default;

void Log::info(std::string_view message) noexcept {
  implementation_->logger.info(spdlog::string_view_t(message.data(), message.size()));
}

void Log::warn(std::string_view message) noexcept {
  implementation_->logger.warn(spdlog::string_view_t(message.data(), message.size()));
}

}  // namespace ringside::control
