// SPDX-License-Identifier: Apache-2.0
//
// guarantee_host PLUGIN ABI SCENARIO [ARGUMENT...]: a program that NCCL's profiler interface must
// never hurt. scenarios.h lists what it can do; run.py judges.
#include <cstdio>
#include <dlfcn.h>
#include <map>

#include "test/guarantees/scenarios.h"

namespace ringside::guarantees {

void* c_function(const Loaded& loaded, const char* name) {
  void* function = dlsym(loaded.library(), name);
  if (function == nullptr) {
    give_up(std::string("no ") + name);
  }
  return function;
}

ringside_status_info status_of(const Loaded& loaded) {
  ringside_status_info info{};
  info.struct_size = sizeof info;
  const auto ask =
      reinterpret_cast<decltype(&ringside_status)>(c_function(loaded, "ringside_status"));
  if (ask(&info) != RINGSIDE_OK) {
    give_up("ringside_status failed");
  }
  return info;
}

void print_status(const ringside_status_info& status) {
  std::printf("{\"trouble\":%d,\"dropped\":%llu,\"callbacks\":%llu,\"bytes\":%llu}\n",
              status.trouble, static_cast<unsigned long long>(status.dropped),
              static_cast<unsigned long long>(status.callbacks),
              static_cast<unsigned long long>(status.bytes_written));
  std::fflush(stdout);
}

}  // namespace ringside::guarantees

int main(int argc, char** argv) {
  using namespace ringside::guarantees;
  const std::map<std::string, int (*)(const Program&)> scenarios = {
      {"storm", storm},
      {"cycles", cycles},
      {"short_threads", short_threads},
      {"notes", notes},
      {"absurd", absurd},
      {"fork", fork_while_recording},
      {"fork_without_atfork", fork_without_atfork},
      {"way_out", way_out},
      {"main_ends", main_ends},
      {"trouble", trouble},
      {"many_threads", many_threads},
      {"short_of_memory", short_of_memory},
      {"steps", steps},
      {"copies", copies},
      {"dump", dump_to},
      {"several_nccls", several_nccls},
      {"foreign_mask", foreign_mask},
      {"api_only", api_only},
      {"fork_before_init", fork_before_init},
      {"fork_and_stay", fork_and_stay},
      {"logger_calls", logger_calls},
      {"cancelled", cancelled}};
  constexpr int kFirstArgument = 4;
  const auto found = argc >= kFirstArgument ? scenarios.find(argv[3]) : scenarios.end();
  if (found == scenarios.end()) {
    std::fprintf(stderr, "usage: guarantee_host PLUGIN ABI SCENARIO [ARGUMENT...]\n");
    return 2;
  }
  return found->second(
      {argv[1], std::atoi(argv[2]), map_rows(), {argv + kFirstArgument, argv + argc}});
}
