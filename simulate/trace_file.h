// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_SIMULATE_TRACE_FILE_H
#define RINGSIDE_SIMULATE_TRACE_FILE_H

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "simulate/clock.h"
#include "simulate/line_buffer.h"
#include "simulate/operation.h"
#include "simulate/options.h"

namespace ringside::simulate {

/// The trace of one process, as docs/trace-format.md has it.
class TraceFile {
 public:
  TraceFile(const Options& options, int rank, const HostClock& clock);

  /// Communicators are numbered by their group: its place plus 1 is the context.
  void begin(const std::vector<Communicator>& communicators);
  void take(const Operation& operation);
  /// When this process's window opened, and when the job was over.
  void end(std::int64_t window_start_ns, std::int64_t end_ns);

  const std::string& name() const { return name_; }
  std::int64_t operations() const { return operations_; }
  std::int64_t dropped() const { return dropped_; }
  const char* last_state() const { return last_state_; }

 private:
  struct Counts {
    std::array<std::int64_t, 4> by_fate{};  // pairs of callbacks
  };
  enum Type { kColl, kP2p, kCollApi, kKernelCh, kProxyOp, kProxyStep, kTypes };

  void count(Type type, const Operation& operation, std::int64_t events);
  void count_all(const Operation& operation);
  void metadata(const char* name);
  void clock_line(std::int64_t true_ns, const ClockStep* step = nullptr);
  bool starts_late() const;
  void window_lines(std::int64_t start_ns);
  void communicator_line(const Communicator& communicator, std::int64_t created_ns);
  void account_line(std::int64_t true_ns);
  void line_of(const Operation& operation);
  void keys_of(const Operation& operation);
  void times_of(const Operation& operation);
  void calls_of(const Operation& operation);
  void rows_of(const Operation& operation);
  void net_row(const Operation& operation, const NetRow& row);
  void begin_async(const char* category, std::uint64_t id, std::int64_t ts_ns);
  void end_async(const char* category, std::uint64_t id, std::int64_t ts_ns);
  void cut() const;
  bool has_proxy(const Operation& operation) const;
  bool has_start(const Operation& operation) const;
  std::int64_t start_of(const Operation& operation) const;

  const Options& options_;
  int rank_;
  const HostClock& clock_;
  std::string name_;
  std::string path_;
  LineBuffer out_;
  std::array<std::uint64_t, kGroups> hashes_{};
  std::array<std::size_t, kGroups> sizes_{};
  std::array<Counts, kTypes> counts_{};
  std::int64_t operations_ = 0;
  std::int64_t dropped_ = 0;
  std::uint64_t asyncs_ = 0;  // ids of slices
  std::int64_t calls_ = 0;
  const char* last_state_ = "none";
};

}  // namespace ringside::simulate

#endif  // RINGSIDE_SIMULATE_TRACE_FILE_H
