// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>

#include "test/generate/simulation.h"

namespace ringside::generate {
namespace {

constexpr std::int64_t kLatency_ns = 10'000;
constexpr std::uint64_t kBuffered_bytes = std::uint64_t{64} << 10U;

}  // namespace

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
      const bool waits = !(c.is_send && transfer.bytes <= kBuffered_bytes);
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

}  // namespace ringside::generate
