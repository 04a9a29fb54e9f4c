// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_SIMULATE_OPERATION_H
#define RINGSIDE_SIMULATE_OPERATION_H

#include <cstdint>
#include <vector>

#include "simulate/options.h"

namespace ringside::simulate {

enum class State { kEnqueued, kStarted, kCompleted };
enum class Fate { kWritten, kSampledOut, kFiltered, kDropped };

/// One channel's share of an operation between two hosts. Times are true times.
struct NetRow {
  bool is_send = false;
  int channel = 0;
  int peer = 0;  // in the communicator
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t transfer_ns = 0;  // of each step; the rest of the step is waiting for the peer
  std::uint64_t bytes = 0;
};

/// An operation as one rank saw it. Times are true times with the noise of stamps.
struct Operation {
  int rank = 0;        // in the job
  int local_rank = 0;  // in the communicator
  Group group = Group::kWorld;
  const char* func = "";
  bool is_p2p = false;
  std::int64_t seq = 0;
  std::uint64_t count = 0;
  const char* datatype = "ncclFloat32";
  std::uint64_t bytes = 0;
  int root = -1;
  int peer = -1;
  std::int64_t group_id = 0;
  std::int64_t enqueue_start_ns = 0;
  std::int64_t enqueue_end_ns = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t first_byte_ns = 0;
  State state = State::kCompleted;
  Fate fate = Fate::kWritten;
  std::vector<NetRow> rows;
};

/// A communicator of the job.
struct Communicator {
  Group group = Group::kWorld;
  std::uint64_t hash = 0;
  std::vector<int> members;  // ranks of the job, by rank in the communicator
};

}  // namespace ringside::simulate

#endif  // RINGSIDE_SIMULATE_OPERATION_H
