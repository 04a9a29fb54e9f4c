// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>

#include "test/generate/simulation.h"

namespace ringside::generate {
namespace {

constexpr std::int64_t kLatency_ns = 10'000;
/// A message of up to this many bytes fits into the buffers on the way, so its sender need not
/// wait.
constexpr std::uint64_t kBuffered_bytes = std::uint64_t{1} << 20U;

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

}  // namespace

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
                   step.bytes > kBuffered_bytes || root == static_cast<int>(i);
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
    if (is_chain && step.bytes > kBuffered_bytes && k + 1 < present) {
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

}  // namespace ringside::generate
