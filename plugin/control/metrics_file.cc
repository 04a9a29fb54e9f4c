// SPDX-License-Identifier: Apache-2.0
#include "plugin/control/metrics_file.h"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <unistd.h>

namespace ringside::control {

MetricsFile::MetricsFile(const std::string& directory, std::string_view name, std::uint64_t every_s)
    : every_ns_(static_cast<std::int64_t>(every_s) * 1'000'000'000) {
  if (!directory.empty()) {
    path_ = directory + "/" + std::string(name) + ".prom";
    // Exporters read all that ends in .prom.
    temporary_ = path_ + ".tmp";
  }
}

bool MetricsFile::is_due(std::int64_t now_ns) {
  if (path_.empty() || now_ns < next_ns_) {
    return false;
  }
  next_ns_ = now_ns + every_ns_;
  return true;
}

int MetricsFile::write(std::string_view text) {
  unlink(temporary_.c_str());  // left by a write that failed
  // An exporter is another user, as a rule.
  const int file =
      open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
  if (file < 0) {
    return errno;
  }
  int error = 0;
  while (error == 0 && !text.empty()) {
    const ssize_t done = ::write(file, text.data(), text.size());
    if (done >= 0) {
      text.remove_prefix(static_cast<std::size_t>(done));
    } else if (errno != EINTR) {
      error = errno;
    }
  }
  if (close(file) != 0 && error == 0) {
    error = errno;
  }
  if (error == 0 && rename(temporary_.c_str(), path_.c_str()) != 0) {
    error = errno;
  }
  if (error != 0) {
    unlink(temporary_.c_str());
  }
  written_ = written_ || error == 0;
  return error;
}

void MetricsFile::remove() {
  if (written_) {
    unlink(path_.c_str());
  }
}

}  // namespace ringside::control
