// SPDX-License-Identifier: Apache-2.0
//
// Calls of NCCL's interface as a program makes them, counted where they outlive the program: in a
// file that the test reads afterwards and compares with the trace's account.
#ifndef RINGSIDE_TEST_GUARANTEES_CALLER_H
#define RINGSIDE_TEST_GUARANTEES_CALLER_H

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "test/host/profiler_plugin.h"

namespace ringside::guarantees {

inline constexpr std::size_t kTypes = 17;  // 16 is of events that nobody knows
inline constexpr std::size_t kRows = 64;

/// The counts of one thread's calls; zero at first. guarantees.py reads the file as rows of
/// integers.
struct Row {
  std::atomic<std::uint64_t> tid;
  std::array<std::atomic<std::uint64_t>, kTypes> begun;
  std::array<std::atomic<std::uint64_t>, kTypes> returned;
  std::atomic<std::uint64_t> longest_ns;
};

/// The rows in the file that GUARANTEE_COUNTS names.
Row* map_rows();

/// The plugin as NCCL loads it: by its path, at each communicator.
class Loaded {
 public:
  Loaded(const char* path, int abi);
  ~Loaded();
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;

  const host::ProfilerPlugin& plugin() const { return *plugin_; }
  void* library() const { return library_; }
  void* new_communicator(std::uint64_t hash, const std::string& name = "guarantee");
  int mask() const { return mask_; }

 private:
  void* library_;
  std::unique_ptr<host::ProfilerPlugin> plugin_;
  static int mask_;  // NCCL has one for the process
};

/// Calls of one thread. A callback that does not return success ends the program.
class Caller {
 public:
  Caller(const host::ProfilerPlugin& plugin, void* context, Row& row);

  /// All callbacks of one collective with a proxy operation and a step.
  void operation();
  void operations(std::uint64_t count, int pause_us);

  void* start(std::uint32_t type, void* parent, void* group = nullptr);
  void state(std::uint32_t type, void* handle, int state);
  void stop(std::uint32_t type, void* handle);

  void* context() const { return context_; }

 private:
  template <class Call>
  void counted(std::uint32_t type, Call call);

  const host::ProfilerPlugin& plugin_;
  void* context_;
  Row& row_;
  std::uint64_t sequence_ = 0;
};

/// Ends the program with 1 and says where.
[[noreturn]] void give_up(const std::string& what);

inline void require(bool condition, const char* what) {
  if (!condition) {
    give_up(what);
  }
}

}  // namespace ringside::guarantees

#endif  // RINGSIDE_TEST_GUARANTEES_CALLER_H
