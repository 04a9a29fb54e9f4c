// SPDX-License-Identifier: Apache-2.0
//
// One line of a terminal says what a command is doing, and how far it is. It is gone at the end.
#ifndef RINGSIDE_ANALYZER_CLI_PROGRESS_LINE_H
#define RINGSIDE_ANALYZER_CLI_PROGRESS_LINE_H

#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "analyzer/load/trace_loader.h"

namespace ringside::cli {

/// Returns what the line says. `bytes_done` 0: what is done is not counted. `bytes_all` 0: not
/// known.
std::string progress_text(std::string_view doing, std::uint64_t bytes_done, std::uint64_t bytes_all,
                          double seconds);

/// Shows a line on stderr, if that is a terminal and --quiet is not given, from half a second after
/// it was made until it is destroyed, by a thread of its own.
class ProgressLine {
 public:
  ProgressLine(std::string_view doing, const load::Progress& progress);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

 private:
  void show();

  std::string_view doing_;
  const load::Progress& progress_;
  std::mutex mutex_;
  std::condition_variable ended_changed_;
  bool ended_ = false;
  std::thread thread_;  // last, so that the others are there when it starts
};

}  // namespace ringside::cli

#endif  // RINGSIDE_ANALYZER_CLI_PROGRESS_LINE_H
