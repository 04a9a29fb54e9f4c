// SPDX-License-Identifier: Apache-2.0
//
// Dumps of processes that run, here or on other hosts, as files that can be read here.
#ifndef RINGSIDE_ANALYZER_CLI_LIVE_LIVE_DUMPS_H
#define RINGSIDE_ANALYZER_CLI_LIVE_LIVE_DUMPS_H

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "live/choose.h"

namespace ringside::cli {

class LiveDumps {
 public:
  LiveDumps() = default;
  LiveDumps(const LiveDumps&) = delete;
  LiveDumps& operator=(const LiveDumps&) = delete;
  /// Removes the copies. The dumps themselves stay beside the traces.
  ~LiveDumps();

  /// Has each of these processes write a dump beside its trace. A dump that is not to be seen here
  /// is copied from its host.
  void take(const live::Choice& choice, const std::vector<live::Endpoint>& processes,
            std::chrono::milliseconds timeout);

  /// The paths at which the processes have written them.
  const std::vector<std::string>& paths() const { return paths_; }
  /// The files that can be read here: dumps, or copies of them.
  const std::vector<std::string>& files() const { return files_; }
  /// Processes that have written none, or named what is none of theirs.
  std::size_t missing() const { return missing_; }
  /// A line for each process that has written none, or whose dump cannot be read here.
  const std::vector<std::string>& troubles() const { return troubles_; }

 private:
  void add_file(const std::string& path, const live::Endpoint& process);

  std::vector<int> opened_;
  std::vector<std::string> paths_, files_, troubles_;
  std::size_t missing_ = 0;
  std::string copies_;  ///< a directory; empty: there are none
};

}  // namespace ringside::cli

#endif  // RINGSIDE_ANALYZER_CLI_LIVE_LIVE_DUMPS_H
