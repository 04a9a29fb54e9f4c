// SPDX-License-Identifier: Apache-2.0
// ringside_generate: traces of a simulated job, whose truth is known. It links nothing of the
// analyzer, to be an independent witness for it.
#include <cstdio>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <vector>

#include "simulate/job.h"
#include "test/generate/parse_options.h"
#include "test/generate/truth.h"

namespace ringside::simulate {
namespace {

void generate(const Options& options) {
  std::filesystem::create_directories(options.directory);
  if (!std::filesystem::is_empty(options.directory)) {
    throw std::runtime_error(options.directory + " is not empty; give another one or empty it");
  }
  write_job(options, [&](const Simulation& simulation, const std::vector<HostClock>& clocks,
                         const std::vector<TraceFile>& files) {
    write_truth(options, simulation, clocks, files);
  });
}

}  // namespace
}  // namespace ringside::simulate

int main(int argc, char** argv) {
  ringside::simulate::Options options;
  try {
    if (const auto status = ringside::simulate::parse_options(argc, argv, options)) {
      return *status;
    }
    ringside::simulate::generate(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ringside_generate: %s\n", error.what());
    return 1;
  }
  return 0;
}
