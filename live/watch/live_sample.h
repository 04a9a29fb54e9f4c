// SPDX-License-Identifier: Apache-2.0
//
// The sums that a process answers to the verb `live`, and the rates between two such answers.
#ifndef RINGSIDE_ANALYZER_LIVE_LIVE_SAMPLE_H
#define RINGSIDE_ANALYZER_LIVE_LIVE_SAMPLE_H

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "live/last_events.h"
#include "live/process_status.h"

namespace ringside::live {

/// Sums of one rank in one communicator since it was made (docs/dev/control-socket.md).
struct LiveCommunicator {
  std::int64_t context = 0;
  std::string comm, name;  ///< empty: not known
  std::optional<std::int64_t> rank, nranks;
  std::uint64_t operations = 0, message_bytes = 0, bus_ns = 0;
  std::uint64_t joint_operations = 0, joint_ns = 0;  ///< 0 from earlier plugins
  double bus_bytes = 0;
  std::uint64_t in_flight_operations = 0, in_flight_bytes = 0;
  std::optional<std::int64_t> oldest_age_ns, oldest_seq;
  std::string oldest_func;
};

struct LiveSample {
  std::int64_t time_ns = 0;  ///< of the process's own clock
  std::vector<LiveCommunicator> communicators;
  std::uint64_t left_out = 0;
};

/// "AllReduce #7", for people.
std::string operation_text(const std::string& function, const std::optional<std::int64_t>& seq);

/// Nothing if the answer is not one to `live`.
std::optional<LiveSample> read_live(const std::string& answer);

/// A process at one moment; by the path of its rings.
struct LiveProcess {
  Reply reply;
  std::optional<LiveSample> sample;
};
using LiveProcesses = std::map<std::string, LiveProcess>;

/// The answers to `live` by the places of the processes; a host that did not answer has its name
/// and a blank, a process that was named and is not there a blank and its number.
LiveProcesses live_processes(std::vector<Reply> replies);

/// One rank of one communicator over an interval. A rate that cannot be told has no value: nothing
/// was recorded all the while, or there is no earlier answer of this process.
struct LiveRow {
  const LiveProcess* process = nullptr;
  const LiveCommunicator* communicator = nullptr;  ///< NULL: the process has none open
  double interval_s = 0;
  std::optional<double> operations_per_s;
  std::optional<double> message_bytes_per_s;
  /// Size times nccl-tests' factor over time, of the operations that finished in the interval and
  /// whose execution was seen.
  std::optional<double> busbw_bytes_per_s;
  std::optional<std::uint64_t> dropped;  ///< callbacks of the process, in the interval
  /// Since its last event of NCCL, at the least (LastEvents); none while nothing is recorded.
  std::optional<double> quiet_s;
};

/// Sorted by communicator, rank, host and process. Points into `after`.
std::vector<LiveRow> rates_between(const LiveProcesses& before, const LiveProcesses& after,
                                   LastEvents& events);

}  // namespace ringside::live

#endif  // RINGSIDE_ANALYZER_LIVE_LIVE_SAMPLE_H
