// SPDX-License-Identifier: Apache-2.0
//
// Messages of the plugin. Off the hot path, from init and from the drain thread. Never to stdout,
// never to NCCL's logger once init is over: that writes to stdout, is silent unless asked, and
// takes a lock.
#ifndef RINGSIDE_PLUGIN_SESSION_LOG_H
#define RINGSIDE_PLUGIN_SESSION_LOG_H

#include <string>
#include <string_view>

namespace ringside::control {

class Log {
 public:
  /// `target` is "stderr" or a file's path, to which is appended. A file that cannot be opened
  /// becomes stderr, with a warning there.
  explicit Log(const std::string& target);
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  // A message for which memory is too short is lost.
  void info(std::string_view message) noexcept { write("info", message); }
  void warn(std::string_view message) noexcept { write("warning", message); }
  /// Needs no memory, for what is to be said where there is none. One line without its end.
  void warn_plainly(const char* message) noexcept;

 private:
  void write(const char* level, std::string_view message) noexcept;

  int file_ = 2;  ///< standard error
};

}  // namespace ringside::control

#endif  // RINGSIDE_PLUGIN_SESSION_LOG_H
