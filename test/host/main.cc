// SPDX-License-Identifier: Apache-2.0
//
// Stands in for an application with NCCL: see --help.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "test/host/options.h"
#include "test/host/recording.h"
#include "test/host/replay.h"

namespace {

int nccl_version = 0;

int replay_file(ringside::host::Options options, const std::string& path) {
  try {
    if (options.mask_process >= 0 &&
        path != options.recordings.at(static_cast<std::size_t>(options.mask_process))) {
      std::erase_if(options.actions, [](const ringside::host::Action& action) {
        return action.what == ringside::host::Action::What::kMask;
      });
    }
    auto recording = ringside::host::read_recording(path);
    nccl_version = recording.nccl_version;
    // Never deleted: a plugin's threads may still use what they were given while the process exits.
    static auto* replay = new ringside::host::Replay(*new auto(options), std::move(recording));
    return replay->run() ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "nccl_host: %s\n", error.what());
    return 1;
  }
}

// The signal that is to end the process; 0: none.
int expected_signal(const ringside::host::Options& options) {
  if (options.kill_after == 0 || options.death == "_exit") return 0;
  return options.death == "abort" ? SIGABRT : options.death == "segfault" ? SIGSEGV : SIGKILL;
}

bool ended_well(pid_t child, int expected_signal) {
  int status = 0;
  if (waitpid(child, &status, 0) != child) return false;
  if (WIFSIGNALED(status)) {
    if (WTERMSIG(status) == expected_signal) return true;
    std::fprintf(stderr, "nccl_host: process %d died of signal %d\n", child, WTERMSIG(status));
    return false;
  }
  return WEXITSTATUS(status) == 0 && expected_signal == 0;
}

}  // namespace

// The plugin asks the library that its mask lies in for this.
extern "C" __attribute__((visibility("default"))) int ncclGetVersion(int* version) {  // NOLINT
  if (version == nullptr) return 4;
  *version = nccl_version;
  return 0;
}

int main(int argc, char** argv) {
  const auto options = ringside::host::parse_options(argc, argv);
  std::vector<pid_t> children;
  for (const auto& path : options.recordings) {
    const pid_t child = fork();
    if (child == 0) return replay_file(options, path);
    if (child < 0) std::perror("nccl_host: fork");
    children.push_back(child);
  }
  bool well = true;
  for (const pid_t child : children) {
    well = child > 0 && ended_well(child, expected_signal(options)) && well;
  }
  return well ? 0 : 1;
}
