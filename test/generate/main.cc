// SPDX-License-Identifier: Apache-2.0
// ringside_generate: traces of a simulated job, whose truth is known. It links nothing of the
// analyzer, to be an independent witness for it.
#include <cstdio>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <vector>

#include "test/generate/truth.h"

namespace ringside::generate {
namespace {

std::vector<HostClock> make_clocks(const Options& options) {
  Random random(options.seed ^ 0xc10c5U);
  std::vector<HostClock> clocks;
  clocks.reserve(static_cast<std::size_t>(options.hosts));
  for (int host = 0; host < options.hosts; ++host) {
    HostClock clock;
    clock.offset_ns = random.between(-options.max_offset_ns, options.max_offset_ns + 1);
    clock.drift_ppb = random.between(-options.max_drift_ppb, options.max_drift_ppb + 1);
    clock.wander_ns = random.between(-options.wander_ns, options.wander_ns + 1);
    clock.wander_period_ns = options.wander_period_ns;
    clocks.push_back(clock);
  }
  return clocks;
}

void generate(const Options& options) {
  std::filesystem::create_directories(options.directory);
  if (!std::filesystem::is_empty(options.directory)) {
    throw std::runtime_error(options.directory + " is not empty; give another one or empty it");
  }
  std::vector<HostClock> clocks = make_clocks(options);
  std::vector<TraceFile> files;
  files.reserve(static_cast<std::size_t>(options.ranks()));
  for (int rank = 0; rank < options.ranks(); ++rank) {
    files.emplace_back(options, rank,
                       clocks[static_cast<std::size_t>(rank / options.ranks_per_host)]);
  }
  Simulation simulation(options, clocks, [&](const Operation& operation) {
    files[static_cast<std::size_t>(operation.rank)].take(operation);
  });
  for (TraceFile& file : files) {
    file.begin(simulation.communicators());
  }
  simulation.run();
  for (std::size_t rank = 0; rank < files.size(); ++rank) {
    files[rank].end(simulation.ranks()[rank].window_start_ns, simulation.end_ns());
  }
  for (const int rank : options.lose) {
    std::filesystem::remove(options.directory + '/' + files[static_cast<std::size_t>(rank)].name());
  }
  write_truth(options, simulation, clocks, files);
}

}  // namespace
}  // namespace ringside::generate

int main(int argc, char** argv) {
  ringside::generate::Options options;
  try {
    if (const auto status = ringside::generate::parse_options(argc, argv, options)) {
      return *status;
    }
    ringside::generate::generate(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ringside_generate: %s\n", error.what());
    return 1;
  }
  return 0;
}
