// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_SIMULATE_SIMULATION_H
#define RINGSIDE_SIMULATE_SIMULATION_H

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "simulate/clock.h"
#include "simulate/lateness.h"
#include "simulate/operation.h"
#include "simulate/options.h"
#include "simulate/random.h"

namespace ringside::simulate {

/// One process: its processor runs ahead of its GPU until the end of an iteration.
struct Rank {
  std::int64_t cpu_ns = kJobStart_ns;
  std::int64_t gpu_free_ns = kJobStart_ns;
  std::int64_t window_start_ns = kJobStart_ns - 2'000'000;  // when the plugin was loaded
  std::int64_t groups = 0;
  std::array<std::array<std::int64_t, kCollectives>, kGroups> seq{};
  bool is_stuck = false;  // an operation of its GPU will never end
  bool is_gone = false;   // its processor calls nothing any more
  bool is_recording = true;
};

/// Runs the job in true time and hands over each operation of each rank, in the order of each
/// rank's calls. The rules of time are at finish_collective() and run_transfers().
class Simulation {
 public:
  using Sink = std::function<void(const Operation&)>;

  /// The steps that the hosts' clocks make are added to them.
  Simulation(const Options& options, std::vector<HostClock>& clocks, Sink sink);

  void run();

  const std::vector<Communicator>& communicators() const { return communicators_; }
  const std::vector<Rank>& ranks() const { return ranks_; }
  std::int64_t end_ns() const;

 private:
  struct Transfer {
    int source = 0;  // ranks in the communicator
    int destination = 0;
    std::uint64_t bytes = 0;
  };

  void make_communicators();
  void step_clocks(std::int64_t iteration);
  void begin_iteration(std::int64_t iteration);
  void run_step(const Step& step);
  void run_collective(const Communicator& communicator, const Step& step);
  void finish_collective(const Communicator& communicator, const Step& step,
                         std::vector<Operation>& operations);
  void run_transfers(const Communicator& communicator, const Step& step);
  std::vector<Transfer> transfers_of(const Communicator& communicator, const Step& step) const;
  void enqueue(Operation& operation);
  std::int64_t kernel_start(int rank, std::int64_t enqueue_end_ns);
  void mismatch(const Communicator& communicator, Operation& operation, Function& function) const;
  double slowness(int from_rank, int to_rank, int channel) const;
  void add_rows(const Communicator& communicator, std::int64_t start_ns, std::int64_t end_ns,
                std::vector<Operation>& operations) const;
  void hand_over(Operation& operation);
  const Fault* fault(FaultKind kind, int rank, std::int64_t at) const;
  int host_of(int rank) const { return rank / options_.ranks_per_host; }
  std::int64_t noise() { return random_.between(0, options_.stamp_noise_ns); }

  const Options& options_;
  std::vector<HostClock>& clocks_;
  Sink sink_;
  Random random_;
  Lateness lateness_;
  std::vector<Communicator> communicators_;
  std::vector<Rank> ranks_;
  std::int64_t number_ = 0;  // of the operation in the run
};

}  // namespace ringside::simulate

#endif  // RINGSIDE_SIMULATE_SIMULATION_H
