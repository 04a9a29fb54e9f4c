// SPDX-License-Identifier: Apache-2.0
//
// This program again, as `ringside watch`, in a process of its own beside a job.
#ifndef RINGSIDE_ANALYZER_CLI_LIVE_JOB_WATCH_H
#define RINGSIDE_ANALYZER_CLI_LIVE_JOB_WATCH_H

#include <string>
#include <sys/types.h>
#include <vector>

namespace ringside::cli {

class JobWatch {
 public:
  /// Starts it with these arguments, its standard output on standard error. A line of standard
  /// error says if it cannot be started.
  explicit JobWatch(std::vector<std::string> arguments);
  JobWatch(const JobWatch&) = delete;
  JobWatch& operator=(const JobWatch&) = delete;
  /// Has it look once more and end; kills it if that takes longer than some seconds.
  ~JobWatch();

 private:
  pid_t pid_ = -1;  ///< -1: it has not been started
};

}  // namespace ringside::cli

#endif  // RINGSIDE_ANALYZER_CLI_LIVE_JOB_WATCH_H
