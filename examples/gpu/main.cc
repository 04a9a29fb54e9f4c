// SPDX-License-Identifier: Apache-2.0
//
// collectives_bench: times collectives as nccl-tests does, with one process for each rank, and
// shows how a program starts and stops Ringside around the part that matters.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <signal.h>
#include <stdexcept>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "examples/gpu/bench.h"

namespace {

using namespace example;

int run_rank(const Options& options) {
  try {
    Communicator communicator(options.rank, options.ranks, options.id_file);
    Profiler profiler;
    run_bench(options, communicator, profiler);
    if (!options.dump.empty()) {
      profiler.dump(options.dump + "." + std::to_string(options.rank) + ".json");
    }
    std::printf("# rank %d: %s\n", options.rank, profiler.describe().c_str());
    std::fflush(stdout);
    communicator.close();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "collectives_bench: rank %d: %s\n", options.rank, error.what());
    return 1;
  }
}

// One process for each rank. CUDA must not be used before the forks: it does not survive them.
int run_all_ranks(Options options) {
  char directory[] = "/tmp/collectives-bench-XXXXXX";
  if (mkdtemp(directory) == nullptr) throw std::runtime_error("cannot make a directory in /tmp");
  options.id_file = std::string(directory) + "/id";
  std::vector<pid_t> ranks;
  for (options.rank = 0; options.rank < options.ranks; ++options.rank) {
    const pid_t child = fork();
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      std::exit(run_rank(options));
    }
    if (child > 0) ranks.push_back(child);
  }
  bool good = ranks.size() == static_cast<std::size_t>(options.ranks);
  while (!ranks.empty()) {
    int status = 0;
    const pid_t ended = wait(&status);
    std::erase(ranks, ended);
    const bool passed = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    // The others would wait for the one that failed.
    if (!passed && good) {
      for (const pid_t rank : ranks) kill(rank, SIGTERM);
    }
    good = good && passed;
  }
  std::filesystem::remove_all(directory);
  return good ? 0 : 1;
}

}  // namespace

int main(int argument_count, char** arguments) {
  if (argument_count == 2 && std::strcmp(arguments[1], "--help") == 0) {
    std::fputs(kUsage, stdout);
    return 0;
  }
  try {
    const Options options = parse_options(argument_count, arguments);
    return options.rank < 0 ? run_all_ranks(options) : run_rank(options);
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "collectives_bench: %s\n%s", error.what(), kUsage);
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "collectives_bench: %s\n", error.what());
    return 1;
  }
}
