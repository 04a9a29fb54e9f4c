// SPDX-License-Identifier: Apache-2.0
//
// The command line of collectives_bench.
#ifndef RINGSIDE_EXAMPLES_GPU_OPTIONS_H
#define RINGSIDE_EXAMPLES_GPU_OPTIONS_H

#include <cstddef>
#include <string>
#include <vector>

namespace example {

struct Options {
  int ranks = 4;
  int rank = -1;  // -1: this program starts all ranks itself
  std::string id_file;
  std::vector<std::string> collectives{"AllReduce", "AllGather", "ReduceScatter", "Broadcast",
                                       "AlltoAll"};
  std::size_t min_bytes = std::size_t{1} << 16;
  std::size_t max_bytes = std::size_t{1} << 24;
  std::size_t factor = 4;
  int iterations = 20;
  int warmup = 3;
  bool record_all = false;
  std::string dump;
  std::string times;
  int late_rank = -1;
  long late_us = 20000;
  int stuck_rank = -1;
  int stuck_at = 0;  // the number of the measured call, from 0 over the whole run
};

/// Throws std::invalid_argument with an explanation.
Options parse_options(int argument_count, char** arguments);

extern const char* const kUsage;

}  // namespace example

#endif  // RINGSIDE_EXAMPLES_GPU_OPTIONS_H
