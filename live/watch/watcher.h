// SPDX-License-Identifier: Apache-2.0
//
// The things that go wrong in a job while it runs: found from one look at all its processes to the
// next.
#ifndef RINGSIDE_LIVE_WATCH_WATCHER_H
#define RINGSIDE_LIVE_WATCH_WATCHER_H

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "live/choose.h"
#include "live/watch/live_sample.h"

namespace ringside::live {

struct WatchFinding {
  /// `ringside watch` has kVerdict after kStuck, of the same operation: what the dumps say.
  /// kStartUp is of ranks without a communicator, which no Watcher sees.
  enum class Kind : std::uint8_t { kStuck, kVerdict, kLate, kDied, kSilent, kStartUp };
  Kind kind = Kind::kStuck;
  bool ends = false;     ///< it was found before, and is over
  std::string sentence;  ///< for people
  std::string job, directory;
  std::string communicator;  ///< its name, or its hash
  std::string comm;          ///< its hash
  /// If it is stuck, the ranks that have nothing in flight in the communicator; none unless all
  /// of its ranks have answered.
  std::vector<std::int64_t> idle_ranks;
  std::vector<std::int64_t> ranks;        ///< late, died; of what is stuck those that wait
  std::vector<std::string> hosts;         ///< of these ranks
  std::vector<std::string> idle_hosts;    ///< of the idle ranks
  std::optional<double> seconds;          ///< for which what is stuck has waited
  std::optional<double> percent_of_time;  ///< of all ranks' time that the others wait, at least
  std::string function;                   ///< of what is stuck
  std::optional<std::int64_t> seq;
};

/// "stuck", "verdict", "late", "died", "silent", "start_up".
const char* name_of(WatchFinding::Kind kind);

class Watcher {
 public:
  using Clock = std::chrono::steady_clock;

  struct Options {
    double hang_s = 10;         ///< an operation in flight for so long is stuck
    double late_percent = 10;   ///< of all ranks' time that the others must wait for late ranks
    double window_s = 10;       ///< over which that is measured
    unsigned late_windows = 2;  ///< that must agree, one after the other
  };

  explicit Watcher(Options options) : options_(options) {}

  /// Compares this look with those before. Returns what has begun, and what is over.
  std::vector<WatchFinding> look(const Chosen& chosen, const LiveProcesses& processes,
                                 Clock::time_point now);

  /// All that was found and is not over, with the figures of the last look that had some. A process
  /// that ended without a farewell is not among them.
  std::vector<WatchFinding> current() const;

 private:
  struct Member {
    const LiveProcess* process = nullptr;
    const LiveCommunicator* communicator = nullptr;
  };
  using CommunicatorKey =
      std::pair<std::string, std::string>;  // job and its directory; communicator
  using Communicators = std::map<CommunicatorKey, std::vector<Member>>;

  // The sums of the operations in which each rank waits for all.
  struct Joint {
    std::uint64_t operations = 0;
    std::uint64_t ns = 0;
    std::int64_t at_ns = 0;  // of the process's own clock
  };
  struct Lateness {
    Clock::time_point begun;
    std::map<std::int64_t, Joint> at_begin;  // by rank
    std::set<std::int64_t> suspects;         // late in the last window
    unsigned windows = 0;                    // in which they were
    bool is_told = false;
    WatchFinding told;
  };

  struct Silent {
    unsigned looks = 0;  // one after the other, without an answer
    std::string host;
    std::string name;  // for people
  };

  void find_stuck(const Communicators& communicators, std::vector<WatchFinding>& found);
  void find_late(const Communicators& communicators, Clock::time_point now,
                 std::vector<WatchFinding>& found);
  void end_window(const std::vector<Member>& members, double window_s, Lateness& lateness,
                  std::vector<WatchFinding>& found) const;
  void find_gone(const Chosen& chosen, const LiveProcesses& processes,
                 std::vector<WatchFinding>& found);

  void find_silent(const LiveProcesses& processes, std::vector<WatchFinding>& found);

  const Options options_;
  std::map<CommunicatorKey, WatchFinding> stuck_;  // told
  std::map<CommunicatorKey, Lateness> lateness_;
  std::map<std::string, ProcessStatus> known_;  // processes that have answered, by place
  std::map<std::string, Silent> silent_;        // hosts and processes without an answer
};

}  // namespace ringside::live

#endif  // RINGSIDE_LIVE_WATCH_WATCHER_H
