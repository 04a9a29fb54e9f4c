// SPDX-License-Identifier: Apache-2.0
//
// The command line of nccl_ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ranks {

inline constexpr int kNobody = -1;

// Something that goes wrong on one rank, on purpose, from one collective on.
struct Fault {
  int rank = kNobody;
  long at = 0;  // the number of the collective, counted from 0 on each rank
};

struct Options {
  int rank_count = 4;
  int ranks_per_host = 1;
  int ranks_per_process = 1;
  std::vector<std::string> scenarios{"mix"};
  std::string collective = "all_reduce";  // of the sweep
  std::size_t min_bytes = 1024;
  std::size_t max_bytes = std::size_t{4} << 20;
  std::size_t factor = 4;
  int iterations = 5;
  int warmup = 1;
  int channels = 2;
  Fault late;
  long late_microseconds = 1000;
  Fault stuck;
  Fault mismatch;
  Fault kill;
  Fault leave_out;
  bool finalize = true;
  bool exit_in_handler = false;
  bool threads = false;
  bool fork = false;
  bool log_calls = false;
  std::uint64_t user_tag = 0;  // of every AllReduce; none when 0
  double timeout_seconds = 120;
  std::string plugin;
  std::string directory = ".";
  std::vector<std::string> command;  // to run instead of ranks

  int process_count() const { return rank_count / ranks_per_process; }
  int host_of(int rank) const { return rank / ranks_per_host; }
  int device_of(int rank) const { return rank % ranks_per_host; }
};

// Throws std::invalid_argument with an explanation.
Options parse_options(int argument_count, char** arguments);

extern const char* const kUsage;

}  // namespace ranks
