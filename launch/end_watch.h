// SPDX-License-Identifier: Apache-2.0
//
// How the processes of a job ended. A launcher takes the statuses of its processes and often keeps
// them to itself; the kernel shows them to others, too, until then.
#ifndef RINGSIDE_ANALYZER_LAUNCH_END_WATCH_H
#define RINGSIDE_ANALYZER_LAUNCH_END_WATCH_H

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <sys/types.h>
#include <thread>
#include <vector>

#include "launch/job_rings.h"

namespace ringside::launch {

struct ProcessEnd {
  pid_t pid = 0;
  std::int64_t realtime_ns = 0;
  std::optional<int> status;  ///< as waitpid gives it; nothing if its parent was faster
  std::string rank = {};      ///< by its variables, of one that NCCL had not loaded the plugin into
};

/// Watches the processes of this host that hold rings of a job, and until one does, its ranks among
/// the processes that this one has started, in a thread that takes no signal.
/// Where the kernel has no pidfd_open (Linux before 5.3), nothing is seen.
class EndWatch {
 public:
  explicit EndWatch(const JobRings& rings);
  EndWatch(const EndWatch&) = delete;
  EndWatch& operator=(const EndWatch&) = delete;
  ~EndWatch();

  /// Ends the watch. The ends, in their order.
  std::vector<ProcessEnd> stop();

 private:
  void run();
  void look_for_processes();
  void look_for_ranks(pid_t parent);
  void watch(pid_t pid);
  void wait_for_ends();

  JobRings rings_;  // its own: the other thread asks for those who outlive the command
  int wake_ = -1;   // an eventfd that ends a wait
  std::map<pid_t, int> watched_;        // pidfds
  std::map<pid_t, std::string> ranks_;  // that hold no rings
  bool have_rings_ = false;             // any
  unsigned looks_ = 0;
  std::vector<ProcessEnd> ends_;
  std::atomic<bool> is_stopped_{false};
  std::thread thread_;
};

/// The line of a file that the analyzer reads (load/process_ends.h). `boot_id`: this host's.
std::string end_line(const ProcessEnd& end, const std::string& boot_id);
std::string this_boot_id();

}  // namespace ringside::launch

#endif  // RINGSIDE_ANALYZER_LAUNCH_END_WATCH_H
