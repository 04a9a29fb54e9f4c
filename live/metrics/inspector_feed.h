// SPDX-License-Identifier: Apache-2.0
//
// The finished operations of processes that run, as lines of NCCL Inspector (format v4.0, NCCL 2.28
// to 2.30), for the collectors that read those. They are read from the traces, which grow: what
// nobody takes waits there, in no memory.
#ifndef RINGSIDE_LIVE_METRICS_INSPECTOR_FEED_H
#define RINGSIDE_LIVE_METRICS_INSPECTOR_FEED_H

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "live/process_status.h"

namespace ringside::live {

class InspectorFeed {
 public:
  /// `target`: a directory, in which each process gets a file as Inspector has it, or "unix:" and
  /// the path of a stream socket, to which each gets a connection. What ended before `since_ns`
  /// (since the epoch) is left out.
  InspectorFeed(std::string target, std::int64_t since_ns);
  ~InspectorFeed();

  /// Why there can be no such target; empty: there can. A socket need not be there yet.
  static std::string check(const std::string& target);

  /// Hands on what these have written since the last look, and the rest of those that are no longer
  /// there. It never waits for a reader. Returns what keeps lines back, or loses them, in words.
  std::string look(const std::vector<Reply>& processes);

 private:
  class Lines;
  class Process;

  const std::string target_;
  const std::int64_t since_ns_;
  std::map<std::string, std::unique_ptr<Process>> processes_;  ///< by ring directory
};

}  // namespace ringside::live

#endif  // RINGSIDE_LIVE_METRICS_INSPECTOR_FEED_H
