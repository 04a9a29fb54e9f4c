// SPDX-License-Identifier: Apache-2.0
//
// Memory that all ranks and their parent share: how ranks find each other and how the parent learns
// what became of them.
#pragma once

#include <atomic>
#include <nccl.h>

namespace ranks {

enum class Outcome : int { kRunning, kPassed, kFailed };

class Board {
 public:
  // Maps the memory; to be called before the ranks' processes are forked.
  static Board& create(int rank_count);

  // The unique id of the world communicator: one rank publishes, all others wait for it.
  void publish_id(const ncclUniqueId& id);
  ncclUniqueId wait_for_id() const;

  // Returns when all ranks have called it, without involving NCCL.
  void barrier();

  struct Rank {
    std::atomic<Outcome> outcome;
    std::atomic<long> collectives;  // begun so far
    std::atomic<double> measurement;
  };
  Rank& rank(int index) { return ranks_[index]; }
  double average_measurement() const;

 private:
  static constexpr int kMostRanks = 64;

  int rank_count_;
  std::atomic<bool> id_published_;
  ncclUniqueId id_;
  std::atomic<int> arrived_;
  std::atomic<int> barriers_passed_;
  Rank ranks_[kMostRanks];
};

}  // namespace ranks
