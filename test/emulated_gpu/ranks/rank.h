// SPDX-License-Identifier: Apache-2.0
//
// One rank: its communicators, the faults it is told to show, and the waiting for its work.
#pragma once

#include <atomic>
#include <cuda_runtime_api.h>
#include <mutex>
#include <nccl.h>
#include <string>
#include <vector>

#include "board.h"
#include "call_log.h"
#include "options.h"

namespace ranks {

// A communicator and the stream on which its work is launched.
struct Group {
  ncclComm_t communicator = nullptr;
  cudaStream_t stream = nullptr;
  int rank = 0;
  int size = 0;
  std::string name;
};

class Rank {
 public:
  // Joins the world communicator, with all other ranks.
  Rank(const Options& options, Board& board, int index);

  int index() const { return index_; }
  const Options& options() const { return options_; }
  Board& board() const { return board_; }
  const Group& world() const { return world_; }
  CallLog& log() { return log_; }

  // Collective over the group: ranks with the same color form a new group.
  Group split(const Group& group, int color, const char* name);
  void destroy(Group group);

  // To be called before each collective: counts it, and makes faults happen that are due.
  void begin_collective();
  long collectives() const { return board_.rank(index_).collectives; }

  // The count to call the next all-reduce with: half of it, once, on a rank that shall mismatch.
  std::size_t all_reduce_count(std::size_t count);

  // Whether this rank shall go on without the collective that it has just begun.
  bool leaves_out() const;

  // Whether results are as they should be, and hence worth checking.
  bool verifies() const { return options_.mismatch.rank == kNobody; }

  // Returns when the group's stream is idle; throws as soon as the communicator reports an error.
  void wait(const Group& group);

  void leave();  // destroys the world communicator
  void abort();  // all communicators, without regard to other ranks

 private:
  Group join(ncclComm_t communicator, const char* name);

  const Options& options_;
  Board& board_;
  const int index_;
  CallLog log_;
  std::atomic<bool> mismatched_{false};
  std::mutex mutex_;
  std::vector<ncclComm_t> communicators_;
  Group world_;
};

}  // namespace ranks
