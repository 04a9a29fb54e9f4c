// SPDX-License-Identifier: Apache-2.0
#include "job.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <system_error>
#include <thread>
#include <unistd.h>

#include "process.h"

namespace ranks {

Job::Job(const Options& options, Board& board) : options_(options), board_(board) {
  std::fflush(nullptr);
  const pid_t parent = getpid();
  for (int index = 0; index < options.process_count(); ++index) {
    const pid_t id = fork();
    if (id < 0) throw std::system_error(errno, std::generic_category(), "fork");
    if (id == 0) {
      // Die with the parent, even if it was killed before this line.
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) _exit(1);
      signal(SIGPIPE, SIG_IGN);
      std::exit(run_process(options, board, index));
    }
    processes_.push_back(Process{id, true});
  }
}

Job::~Job() {
  kill_all();
  reap(true);
}

void Job::reap(bool block) {
  for (Process& process : processes_) {
    if (!process.running) continue;
    if (waitpid(process.id, &process.status, block ? 0 : WNOHANG) == process.id) {
      process.running = false;
    }
  }
}

void Job::kill_all() {
  for (Process& process : processes_) {
    if (!process.running) continue;
    process.killed_here = true;
    kill(process.id, SIGKILL);
  }
}

bool Job::any_running() const {
  return std::any_of(processes_.begin(), processes_.end(),
                     [](const Process& process) { return process.running; });
}

void Job::wait() {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + std::chrono::duration<double>(options_.timeout_seconds);
  while (any_running() && Clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    reap(false);
  }
  if (!any_running()) return;
  std::printf("deadline of %.0f s reached\n", options_.timeout_seconds);
  for (int rank = 0; rank < options_.rank_count; ++rank) {
    if (!process_of(rank).running) continue;
    std::printf("rank %d/%d: still running, in collective %ld\n", rank, options_.rank_count,
                board_.rank(rank).collectives - 1);
  }
  kill_all();
  reap(true);
}

bool Job::ended_well(int rank) const {
  const Process& process = process_of(rank);
  return board_.rank(rank).outcome == Outcome::kPassed && WIFEXITED(process.status) &&
         WEXITSTATUS(process.status) == 0;
}

bool Job::crashed(int rank) const {
  const Process& process = process_of(rank);
  return WIFSIGNALED(process.status) && !process.killed_here;
}

// No rank but the one that kills itself may crash; with one rank gone, they may fail or hang.
bool Job::survivors_sound() const {
  for (int rank = 0; rank < options_.rank_count; ++rank) {
    const bool own_kill = options_.kill.rank == rank;
    if (crashed(rank) != own_kill) return false;
  }
  return true;
}

// The stuck rank begins no collective after the one it does not join, and others wait for it there.
bool Job::stuck_as_asked() const {
  const long collectives = options_.stuck.at + 1;
  bool others_wait = options_.rank_count == 1;
  for (int rank = 0; rank < options_.rank_count; ++rank) {
    if (crashed(rank)) return false;
    const bool waits = board_.rank(rank).outcome == Outcome::kRunning;
    if (rank == options_.stuck.rank) {
      if (!waits || board_.rank(rank).collectives != collectives) return false;
    } else {
      others_wait = others_wait || waits;
    }
  }
  return others_wait;
}

bool Job::judge() const {
  const char* expectation = "all ranks end well";
  bool good = true;
  if (options_.stuck.rank != kNobody) {
    expectation = "a rank is stuck and others wait for it";
    good = stuck_as_asked();
  } else if (options_.kill.rank != kNobody) {
    expectation = "a rank kills itself and no other crashes";
    good = survivors_sound();
  } else if (options_.leave_out.rank != kNobody) {
    expectation = "a rank leaves a collective out and none crashes";
    good = survivors_sound();
  } else if (options_.mismatch.rank != kNobody) {
    expectation = "no rank crashes on mismatched counts";
    good = survivors_sound();
  } else {
    for (int rank = 0; rank < options_.rank_count; ++rank) {
      if (crashed(rank)) {
        std::printf("rank %d/%d: killed by signal %d\n", rank, options_.rank_count,
                    WTERMSIG(process_of(rank).status));
      }
      good = good && ended_well(rank);
    }
  }
  std::printf("%s: %d ranks; expected: %s\n", good ? "PASS" : "FAIL", options_.rank_count,
              expectation);
  return good;
}

}  // namespace ranks
