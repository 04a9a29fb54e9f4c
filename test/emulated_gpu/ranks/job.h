// SPDX-License-Identifier: Apache-2.0
//
// Starts the processes of a job, waits for them up to a deadline, and judges what happened.
#pragma once

#include <sys/types.h>
#include <vector>

#include "board.h"
#include "options.h"

namespace ranks {

class Job {
 public:
  Job(const Options& options, Board& board);
  ~Job();  // leaves no process behind
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  // Waits for all processes; kills those that are left at the deadline.
  void wait();

  // Prints the verdict; true if what happened is what the options ask for.
  bool judge() const;

 private:
  struct Process {
    pid_t id = -1;
    bool running = false;
    bool killed_here = false;
    int status = 0;
  };

  void reap(bool block);
  void kill_all();
  bool any_running() const;
  const Process& process_of(int rank) const {
    return processes_[static_cast<std::size_t>(rank / options_.ranks_per_process)];
  }

  bool ended_well(int rank) const;
  bool crashed(int rank) const;
  bool survivors_sound() const;
  bool stuck_as_asked() const;

  const Options& options_;
  Board& board_;
  std::vector<Process> processes_;
};

}  // namespace ranks
