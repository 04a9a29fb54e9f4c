// SPDX-License-Identifier: Apache-2.0
//
// For how long each process has had no event of NCCL: a process says how many it has had, not when.
#ifndef RINGSIDE_LIVE_LAST_EVENTS_H
#define RINGSIDE_LIVE_LAST_EVENTS_H

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace ringside::live {

/// Any thread.
class LastEvents {
 public:
  /// Returns the seconds since the first look at this process that found this count of events, at
  /// the least, so 0 at the first look of all. `now_ns` is of the process's own clock.
  double look(const std::string& process, std::uint64_t events, std::int64_t now_ns);

 private:
  struct Seen {
    std::uint64_t events = 0;
    std::int64_t since_ns = 0;
  };

  std::mutex mutex_;
  std::map<std::string, Seen> seen_;
};

}  // namespace ringside::live

#endif  // RINGSIDE_LIVE_LAST_EVENTS_H
