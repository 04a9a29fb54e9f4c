// SPDX-License-Identifier: Apache-2.0
//
// Messages of the plugin. Off the hot path, from init and from the drain thread. Never to stdout,
// never to NCCL's logger once init is over: that writes to stdout, is silent unless asked, and
// takes a lock.
#ifndef RINGSIDE_PLUGIN_POSIX_LOG_H
#define RINGSIDE_PLUGIN_POSIX_LOG_H

#include <atomic>
#include <cstdint>
#include <string_view>

#include "plugin/posix/descriptors.h"

namespace ringside::posix {

/// Any thread may say something at any time, also where memory is short, in the child of a fork,
/// and within a signal handler: no lock and no memory is taken. Nobody waits for a reader. A line
/// that cannot be written at once is lost, and the next one that is written says how many were. It
/// has 4 KiB at most.
class Log {
 public:
  /// `target` is "stderr" or a file's path, to which is appended. A file that cannot be opened
  /// becomes stderr, with a warning there.
  explicit Log(const char* target) noexcept;
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  void info(std::string_view message) noexcept { write_line("info", message); }
  void warn(std::string_view message) noexcept { write_line("warning", message); }

 private:
  /// False: an application that closes all descriptors has closed this one.
  bool is_open() const noexcept;
  void write_line(const char* level, std::string_view message) noexcept;

  int file_;
  FileIdentity identity_;               ///< of a file that is the log's own
  std::atomic<std::uint64_t> lost_{0};  ///< lines since one was written
  std::atomic<bool> is_torn_{false};    ///< only a part of the last line was written
};

}  // namespace ringside::posix

#endif  // RINGSIDE_PLUGIN_POSIX_LOG_H
