// SPDX-License-Identifier: Apache-2.0
#include "simulate/job.h"

#include <cstddef>
#include <filesystem>

#include "simulate/random.h"

namespace ringside::simulate {
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

}  // namespace

void write_job(const Options& options, const Done& done) {
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
  if (done) {
    done(simulation, clocks, files);
  }
}

}  // namespace ringside::simulate
