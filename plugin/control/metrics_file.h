// SPDX-License-Identifier: Apache-2.0
//
// RINGSIDE_METRICS_DIR: the live metrics as a file that a node exporter reads. Of the drain thread.
#ifndef RINGSIDE_PLUGIN_CONTROL_METRICS_FILE_H
#define RINGSIDE_PLUGIN_CONTROL_METRICS_FILE_H

#include <cstdint>
#include <string>
#include <string_view>

namespace ringside::control {

class MetricsFile {
 public:
  /// The file will be DIRECTORY/NAME.prom. An empty directory: there is none, and nothing is due.
  MetricsFile(const std::string& directory, std::string_view name, std::uint64_t every_s);

  const std::string& path() const { return path_; }

  /// Whether to write now. If so, it is taken as done.
  bool is_due(std::int64_t now_ns);

  /// Replaces the file at once, so that a reader sees the old text or the new one. 0, or errno.
  int write(std::string_view text);

  /// At the end of the process: what nobody updates any more must not look alive.
  void remove();

 private:
  std::string path_;
  std::string temporary_;
  std::int64_t every_ns_;
  std::int64_t next_ns_ = 0;
  bool written_ = false;
};

}  // namespace ringside::control

#endif  // RINGSIDE_PLUGIN_CONTROL_METRICS_FILE_H
