// SPDX-License-Identifier: Apache-2.0
#include "simulate/simulation.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace ringside::simulate {
namespace {

constexpr std::int64_t kRest_ns = 20'000;  // more than stamps are late

constexpr std::int64_t kLatency_ns = 10'000;
/// A message of up to this many bytes fits into the buffers on the way, so its sender need not
/// wait.
constexpr std::uint64_t kCollectiveBuffer_bytes = std::uint64_t{1} << 20U;

/// Bytes that one rank sends in a ring.
double ring_bytes(Function function, std::uint64_t bytes, std::size_t ranks) {
  const auto size = static_cast<double>(bytes);
  const auto n = static_cast<double>(ranks);
  if (function == Function::kAllReduce) {
    return size * 2 * (n - 1) / n;
  }
  if (function == Function::kAllGather || function == Function::kReduceScatter) {
    return size * (n - 1);
  }
  return size;
}

int root_of(const Step& step, std::int64_t number, std::size_t ranks) {
  const bool has_root = step.function == Function::kBroadcast || step.function == Function::kReduce;
  return has_root ? static_cast<int>(static_cast<std::size_t>(number) % ranks) : -1;
}

constexpr std::uint64_t kTransferBuffer_bytes = std::uint64_t{64} << 10U;

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
  return end_ns + options_.rest_ns;
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
    ClockStep step{0, plan.size_ns, plan.is_reported};
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

void Simulation::mismatch(const Communicator& communicator, Operation& operation,
                          Function& function) const {
  const Fault* const found = fault(FaultKind::kMismatch, operation.rank, number_);
  if (found == nullptr) {
    return;
  }
  if (found->what == "size") {
    operation.count *= 2;
    operation.bytes *= 2;
  } else if (found->what == "datatype") {
    operation.datatype = "ncclInt32";  // of the same size, so that nothing else differs
  } else if (found->what == "root" && operation.root >= 0) {
    operation.root = (operation.root + 1) % static_cast<int>(communicator.members.size());
  } else if (found->what == "function") {
    function = function == Function::kAllReduce ? Function::kReduceScatter : Function::kAllReduce;
    operation.root = -1;
  }
}

void Simulation::run_collective(const Communicator& communicator, const Step& step) {
  const std::size_t size = communicator.members.size();
  const int root = root_of(step, number_, size);
  std::vector<Operation> operations;
  bool is_blocked = false;
  for (std::size_t i = 0; i < size; ++i) {
    const int rank = communicator.members[i];
    Rank& state = ranks_[static_cast<std::size_t>(rank)];
    is_blocked = is_blocked || state.is_gone || state.is_stuck;
    if (state.is_gone) {
      continue;
    }
    if (fault(FaultKind::kMissing, rank, number_) != nullptr) {
      // Nobody waits for one receiver of a broadcast whose data fit into the buffers; else the
      // others wait for ever, and so does this rank once it needs them.
      is_blocked = is_blocked || step.function != Function::kBroadcast ||
                   step.bytes > kCollectiveBuffer_bytes || root == static_cast<int>(i);
      continue;
    }
    Operation operation;
    operation.rank = rank;
    operation.local_rank = static_cast<int>(i);
    operation.group = communicator.group;
    operation.bytes = step.bytes;
    operation.count = step.bytes / 4;
    operation.root = root;
    operation.group_id = ++state.groups;
    Function function = step.function;
    mismatch(communicator, operation, function);
    operation.func = name_of(function);
    operation.seq = state.seq.at(static_cast<std::size_t>(communicator.group))
                        .at(static_cast<std::size_t>(function))++;
    enqueue(operation);
    operation.state = State::kStarted;
    operations.push_back(std::move(operation));
  }
  for (Operation& operation : operations) {
    Rank& state = ranks_[static_cast<std::size_t>(operation.rank)];
    if (state.is_stuck) {
      operation.state = State::kEnqueued;
    } else {
      operation.start_ns = kernel_start(operation.rank, operation.enqueue_end_ns);
      state.is_stuck = is_blocked;
    }
  }
  if (!is_blocked) {
    finish_collective(communicator, step, operations);
  }
  for (Operation& operation : operations) {
    if (operation.state != State::kEnqueued) {
      operation.start_ns += noise();
    }
    hand_over(operation);
  }
}

/// AllReduce, AllGather and ReduceScatter: nobody ends before all have started and the data went
/// round. Broadcast and Reduce follow a chain, from the root on or to the root: a rank needs those
/// before it, and, if the message is not buffered, the next one to take it.
void Simulation::finish_collective(const Communicator& communicator, const Step& step,
                                   std::vector<Operation>& operations) {
  const std::vector<int>& members = communicator.members;
  const std::size_t size = members.size();
  double factor = 1;
  for (std::size_t i = 0; i < size; ++i) {
    factor = std::max(factor, slowness(members[i], members[(i + 1) % size], -1));
  }
  const std::int64_t transfer_ns =
      kLatency_ns + static_cast<std::int64_t>(ring_bytes(step.function, step.bytes, size) * factor /
                                              options_.bandwidth_gb_s);
  const std::size_t present = operations.size();
  const int root = root_of(step, number_, size);
  std::size_t first = 0;  // of the chain
  if (root >= 0) {
    const auto at_root = static_cast<std::size_t>(
        std::find_if(operations.begin(), operations.end(),
                     [&](const Operation& o) { return o.local_rank == root; }) -
        operations.begin());
    first = step.function == Function::kBroadcast ? at_root : at_root + 1;
  }
  const bool is_chain = root >= 0;
  std::int64_t last_start_ns = 0;
  for (const Operation& operation : operations) {
    last_start_ns = std::max(last_start_ns, operation.start_ns);
  }
  std::int64_t before_ns = 0;
  for (std::size_t k = 0; k < present; ++k) {
    Operation& operation = operations[(first + k) % present];
    before_ns = std::max(before_ns, operation.start_ns);
    std::int64_t ready_ns = is_chain ? before_ns : last_start_ns;
    const Operation& next = operations[(first + k + 1) % present];
    if (is_chain && step.bytes > kCollectiveBuffer_bytes && k + 1 < present) {
      ready_ns = std::max(ready_ns, next.start_ns);
    }
    operation.first_byte_ns = std::max(operation.start_ns, is_chain ? before_ns : next.start_ns);
    operation.end_ns = ready_ns + transfer_ns + random_.between(0, 3'000) + noise();
    operation.state = State::kCompleted;
    Rank& state = ranks_[static_cast<std::size_t>(operation.rank)];
    // Stamps come late, and the next kernel does not begin before they are all there.
    state.gpu_free_ns = operation.end_ns + options_.stamp_noise_ns;
  }
  if (options_.steps && !is_chain) {
    add_rows(communicator, last_start_ns, last_start_ns + transfer_ns, operations);
  }
}

/// The channels share the data evenly and the slowest one sets the end. In the steps of a healthy
/// link the rest of the time is waiting for the peer.
void Simulation::add_rows(const Communicator& communicator, std::int64_t start_ns,
                          std::int64_t end_ns, std::vector<Operation>& operations) const {
  const std::vector<int>& members = communicator.members;
  const std::size_t size = members.size();
  if (operations.size() != size) {
    return;
  }
  double slowest = 1;
  for (std::size_t i = 0; i < size; ++i) {
    slowest = std::max(slowest, slowness(members[i], members[(i + 1) % size], -1));
  }
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t next = (i + 1) % size;
    if (host_of(members[i]) == host_of(members[next])) {
      continue;
    }
    for (int channel = 0; channel < options_.channels; ++channel) {
      const double share = slowness(members[i], members[next], channel) / slowest;
      NetRow row;
      row.channel = channel;
      row.start_ns = start_ns;
      row.end_ns = end_ns;
      row.bytes = operations[i].bytes / static_cast<std::uint64_t>(options_.channels);
      row.transfer_ns =
          static_cast<std::int64_t>(share * 0.8 * static_cast<double>(end_ns - start_ns));
      row.is_send = true;
      row.peer = static_cast<int>(next);
      operations[i].rows.push_back(row);
      row.is_send = false;
      row.peer = static_cast<int>(i);
      operations[next].rows.push_back(row);
    }
  }
}

std::vector<Simulation::Transfer> Simulation::transfers_of(const Communicator& communicator,
                                                           const Step& step) const {
  std::vector<Transfer> transfers;
  const int size = static_cast<int>(communicator.members.size());
  const int root = static_cast<int>(number_ % size);
  for (int delta = 0; delta < size; ++delta) {
    for (int i = 0; i < size; ++i) {
      const int j = (i + delta) % size;
      switch (step.function) {
        case Function::kAlltoAll:
          transfers.push_back({i, j, step.bytes});
          break;
        case Function::kAlltoAllv:  // from half of the size to twice as much
          transfers.push_back(
              {i, j,
               step.bytes / 8 * static_cast<std::uint64_t>((i * 7 + j * 3) % 13 + 4) / 4 * 4});
          break;
        case Function::kGather:
          if (j == root) {
            transfers.push_back({i, j, step.bytes});
          }
          break;
        case Function::kScatter:
          if (i == root) {
            transfers.push_back({i, j, step.bytes});
          }
          break;
        case Function::kRingShift:
          if (delta == 1) {
            transfers.push_back({i, j, step.bytes});
          }
          break;
        default:  // plain sends to a neighbour
          if (delta == 1 && i % 2 == 0 && j > i) {
            transfers.push_back({i, j, step.bytes});
          }
      }
    }
  }
  return transfers;
}

/// One group of sends and receives: a rank's kernel begins once for all of them. Both ends of a
/// pair end after both have begun, but a send that fits into the buffers does not wait for its
/// receiver.
void Simulation::run_transfers(const Communicator& communicator, const Step& step) {
  const std::vector<Transfer> transfers = transfers_of(communicator, step);
  struct Call {
    Operation operation;
    std::size_t transfer = 0;
    bool is_send = false;
  };
  std::vector<std::vector<Call>> calls(communicator.members.size());
  const auto call = [&](int local, int peer, std::size_t transfer, bool is_send) {
    const int rank = communicator.members[static_cast<std::size_t>(local)];
    Rank& state = ranks_[static_cast<std::size_t>(rank)];
    if (state.is_gone || fault(FaultKind::kMissing, rank, number_) != nullptr) {
      return;
    }
    auto& list = calls[static_cast<std::size_t>(local)];
    Operation operation;
    operation.rank = rank;
    operation.local_rank = local;
    operation.group = communicator.group;
    operation.func = is_send ? "Send" : "Recv";
    operation.is_p2p = true;
    operation.peer = peer;
    operation.bytes = transfers[transfer].bytes;
    Function function = step.function;
    operation.count = operation.bytes / 4;
    mismatch(communicator, operation, function);
    operation.group_id = list.empty() ? ++state.groups : state.groups;
    enqueue(operation);
    list.push_back({std::move(operation), transfer, is_send});
  };
  for (std::size_t t = 0; t < transfers.size(); ++t) {
    call(transfers[t].source, transfers[t].destination, t, true);
    call(transfers[t].destination, transfers[t].source, t, false);
  }
  std::vector<std::int64_t> starts(calls.size(), -1);  // -1: the kernel does not run
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (!calls[i].empty()) {
      const int rank = communicator.members[i];
      if (!ranks_[static_cast<std::size_t>(rank)].is_stuck) {
        starts[i] = kernel_start(rank, calls[i].back().operation.enqueue_end_ns);
      }
    }
  }
  for (std::size_t i = 0; i < calls.size(); ++i) {
    for (Call& c : calls[i]) {
      const Transfer& transfer = transfers[c.transfer];
      Operation& operation = c.operation;
      Rank& state = ranks_[static_cast<std::size_t>(operation.rank)];
      const auto other = static_cast<std::size_t>(operation.peer);
      if (starts[i] < 0) {
        operation.state = State::kEnqueued;
        hand_over(operation);
        continue;
      }
      const bool waits = !(c.is_send && transfer.bytes <= kTransferBuffer_bytes);
      const std::int64_t ready_ns = waits ? std::max(starts[i], starts[other]) : starts[i];
      operation.start_ns = starts[i] + noise();
      operation.first_byte_ns = std::max(operation.start_ns, ready_ns);
      if (waits && starts[other] < 0) {
        operation.state = State::kStarted;
        state.is_stuck = true;
      } else {
        const double factor =
            slowness(communicator.members[static_cast<std::size_t>(transfer.source)],
                     communicator.members[static_cast<std::size_t>(transfer.destination)], -1);
        operation.end_ns = ready_ns + kLatency_ns +
                           static_cast<std::int64_t>(static_cast<double>(transfer.bytes) * factor /
                                                     options_.bandwidth_gb_s) +
                           random_.between(0, 3'000) + noise();
        state.gpu_free_ns = std::max(state.gpu_free_ns, operation.end_ns + options_.stamp_noise_ns);
      }
      hand_over(operation);
    }
  }
}

}  // namespace ringside::simulate
