// SPDX-License-Identifier: Apache-2.0
#include "test/generate/simulation.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace ringside::generate {
namespace {

constexpr std::int64_t kRest_ns = 20'000;  // more than stamps are late

}  // namespace

Simulation::Simulation(const Options& options, std::vector<HostClock>& clocks, Sink sink)
    : options_(options),
      clocks_(clocks),
      sink_(std::move(sink)),
      random_(options.seed),
      lateness_(options) {
  ranks_.resize(static_cast<std::size_t>(options.ranks()));
  make_communicators();
}

void Simulation::make_communicators() {
  const int ranks = options_.ranks();
  const int split = options_.split;
  Communicator world{Group::kWorld, random_.next(), {}};
  for (int rank = 0; rank < ranks; ++rank) {
    world.members.push_back(rank);
  }
  communicators_.push_back(std::move(world));
  if (split == 0) {
    return;
  }
  for (int first = 0; first < ranks; first += split) {
    Communicator group{Group::kSplit, random_.next(), {}};
    for (int rank = first; rank < first + split; ++rank) {
      group.members.push_back(rank);
    }
    communicators_.push_back(std::move(group));
  }
  for (int first = 0; first < split; ++first) {
    Communicator group{Group::kOrthogonal, random_.next(), {}};
    for (int rank = first; rank < ranks; rank += split) {
      group.members.push_back(rank);
    }
    communicators_.push_back(std::move(group));
  }
}

std::int64_t Simulation::end_ns() const {
  std::int64_t end_ns = kJobStart_ns;
  for (const Rank& rank : ranks_) {
    end_ns = std::max({end_ns, rank.cpu_ns, rank.gpu_free_ns});
  }
  return end_ns + 1'000'000;
}

const Fault* Simulation::fault(FaultKind kind, int rank, std::int64_t at) const {
  const auto found =
      std::find_if(options_.faults.begin(), options_.faults.end(), [&](const Fault& candidate) {
        return candidate.kind == kind && candidate.rank == rank && candidate.at == at;
      });
  return found == options_.faults.end() ? nullptr : &*found;
}

// While a host's clock steps, nothing of the host is under way that has a time.
void Simulation::step_clocks(std::int64_t iteration) {
  for (const StepPlan& plan : options_.clock_steps) {
    if (plan.iteration != iteration) {
      continue;
    }
    ClockStep step{0, plan.size_ns, plan.is_told};
    const auto each_rank = [&](auto visit) {
      for (int rank = 0; rank < options_.ranks(); ++rank) {
        if (host_of(rank) == plan.host) {
          visit(ranks_[static_cast<std::size_t>(rank)]);
        }
      }
    };
    each_rank([&](const Rank& rank) {
      step.at_ns = std::max({step.at_ns, rank.cpu_ns, rank.gpu_free_ns});
    });
    step.at_ns += kRest_ns;
    clocks_[static_cast<std::size_t>(plan.host)].steps.push_back(step);
    each_rank([&](Rank& rank) { rank.cpu_ns = std::max(rank.cpu_ns, step.over_ns() + kRest_ns); });
  }
}

void Simulation::begin_iteration(std::int64_t iteration) {
  step_clocks(iteration);
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    Rank& rank = ranks_[i];
    // The end of an iteration waits for the GPU: who is stuck there calls nothing any more.
    rank.is_gone = rank.is_gone || rank.is_stuck ||
                   fault(FaultKind::kHang, static_cast<int>(i), iteration) != nullptr;
    if (rank.is_gone) {
      continue;
    }
    rank.cpu_ns = std::max(rank.cpu_ns, rank.gpu_free_ns);
    const double spread = 1 + options_.jitter * (2 * random_.unit() - 1);
    rank.cpu_ns += static_cast<std::int64_t>(static_cast<double>(options_.compute_ns) * spread);
    rank.cpu_ns += lateness_.extra_ns(static_cast<int>(i), iteration);
  }
  for (const Fault& f : options_.faults) {
    Rank& rank = ranks_[static_cast<std::size_t>(f.rank)];
    if (f.kind == FaultKind::kStraggler && iteration >= f.at && iteration < f.until &&
        !rank.is_gone) {
      rank.cpu_ns += f.delay_ns + f.growth_ns * (iteration - f.at);
    } else if (f.kind == FaultKind::kStartLate) {
      rank.is_recording = iteration >= f.at;
      if (iteration == f.at) {
        rank.window_start_ns = rank.cpu_ns;
        if (options_.seq_from_window) {
          rank.seq = {};
        }
      }
    }
  }
}

void Simulation::run() {
  for (std::int64_t iteration = 0; iteration < options_.iterations; ++iteration) {
    begin_iteration(iteration);
    if (std::all_of(ranks_.begin(), ranks_.end(), [](const Rank& r) { return r.is_gone; })) {
      return;
    }
    for (const Step& step : options_.pattern) {
      run_step(step);
      ++number_;
    }
  }
}

void Simulation::run_step(const Step& step) {
  for (const Communicator& communicator : communicators_) {
    if (communicator.group != step.group) {
      continue;
    }
    if (static_cast<int>(step.function) < kCollectives) {
      run_collective(communicator, step);
    } else {
      run_transfers(communicator, step);
    }
  }
}

void Simulation::enqueue(Operation& operation) {
  Rank& rank = ranks_[static_cast<std::size_t>(operation.rank)];
  rank.cpu_ns += random_.between(2'000, 6'000);
  operation.enqueue_start_ns = rank.cpu_ns;
  rank.cpu_ns += random_.between(4'000, 12'000);
  operation.enqueue_end_ns = rank.cpu_ns;
}

std::int64_t Simulation::kernel_start(int rank, std::int64_t enqueue_end_ns) {
  // The kernel is launched before NCCL reports the operation: it may run before the call is over.
  const std::int64_t launched_ns = enqueue_end_ns + random_.between(-1'500, 7'000);
  return std::max(launched_ns, ranks_[static_cast<std::size_t>(rank)].gpu_free_ns + 1'000);
}

double Simulation::slowness(int from_rank, int to_rank, int channel) const {
  double factor = 1;
  for (const Fault& f : options_.faults) {
    if (f.kind == FaultKind::kSlowLink && f.rank == from_rank && f.to_rank == to_rank &&
        (channel < 0 || f.channel == channel)) {
      factor = std::max(factor, f.factor);
    }
  }
  return factor;
}

void Simulation::hand_over(Operation& operation) {
  const Rank& rank = ranks_[static_cast<std::size_t>(operation.rank)];
  if (!rank.is_recording) {
    operation.fate = Fate::kFiltered;
  } else if (number_ % options_.sample != 0) {
    operation.fate = Fate::kSampledOut;
  } else {
    for (const Fault& f : options_.faults) {
      if (f.kind == FaultKind::kDrop && f.rank == operation.rank && random_.unit() < f.factor) {
        operation.fate = Fate::kDropped;
      }
    }
  }
  sink_(operation);
}

}  // namespace ringside::generate
