// SPDX-License-Identifier: Apache-2.0
//
// A plugin's table of one version of NCCL's profiler interface, called without knowing the version:
// the tables differ in init and in what a descriptor holds, not in how the callbacks are called.
#ifndef RINGSIDE_TEST_BENCH_PROFILER_TABLE_H
#define RINGSIDE_TEST_BENCH_PROFILER_TABLE_H

#include <array>
#include <cstdint>
#include <dlfcn.h>
#include <string>

namespace ringside::bench {

inline constexpr int kLastVersion = 7;

struct ProfilerTable {
  const char* name;
  void* init;  // by version: see init_table
  int (*start_event)(void* context, void** handle, void* descriptor);
  int (*stop_event)(void* handle);
  int (*record_event_state)(void* handle, int state, void* args);
  int (*finalize)(void* context);
};

inline const ProfilerTable* find_table(void* library, int version) {
  const std::string symbol = "ncclProfiler_v" + std::to_string(version);
  return static_cast<const ProfilerTable*>(dlsym(library, symbol.c_str()));
}

inline void ignore_log(int /*level*/, unsigned long /*flags*/, const char* /*file*/, int /*line*/,
                       const char* /*format*/, ...) {}

/// init of a communicator of eight ranks on two nodes; *mask must live until finalize.
inline int init_table(const ProfilerTable& table, int version, void** context, int* mask) {
  using Logger = void (*)(int, unsigned long, const char*, int, const char*, ...);
  constexpr std::uint64_t kHash = 0x5EEDC0DE12345678U;
  const char* const name = "bench";
  const int nnodes = 2;
  const int nranks = 8;
  const int rank = 0;
  if (version <= 3) {
    return reinterpret_cast<int (*)(void**, int*)>(table.init)(context, mask);
  }
  if (version == 4) {
    using Init = int (*)(void**, int*, const char*, std::uint64_t, int, int, int, Logger);
    return reinterpret_cast<Init>(table.init)(context, mask, name, kHash, nnodes, nranks, rank,
                                              ignore_log);
  }
  using Init = int (*)(void**, std::uint64_t, int*, const char*, int, int, int, Logger);
  return reinterpret_cast<Init>(table.init)(context, kHash, mask, name, nnodes, nranks, rank,
                                            ignore_log);
}

}  // namespace ringside::bench

#endif  // RINGSIDE_TEST_BENCH_PROFILER_TABLE_H
