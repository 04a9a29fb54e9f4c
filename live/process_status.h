// SPDX-License-Identifier: Apache-2.0
//
// Parses the reply of a process through its control socket (docs/dev/control-socket.md).
#ifndef RINGSIDE_ANALYZER_LIVE_PROCESS_STATUS_H
#define RINGSIDE_ANALYZER_LIVE_PROCESS_STATUS_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "live/exchange.h"

namespace ringside::live {

struct ProcessStatus {
  std::string host, job, directory, state;
  std::string trace_path;  ///< empty: none yet
  std::string dump_path;   ///< empty: not the answer to a dump
  std::int64_t pid = 0;
  std::optional<std::int64_t> rank;
  std::uint64_t windows = 0, communicators = 0, operations = 0, dropped = 0;
  std::optional<std::uint64_t> callbacks;    ///< of NCCL; left out by earlier plugins
  std::uint64_t captured = 0, replayed = 0;  ///< operations in CUDA graphs: captures, replays
  bool trouble = false;
  bool mask_changed =
      false;  ///< NCCL is not asked for all that is wanted: somebody else wrote its mask
  // The start and the stop that are ordered for later, and the bounds of the window that runs.
  std::optional<std::int64_t> start_at_realtime_ns, start_duration_ns, stop_at_realtime_ns, left_ns;
  std::optional<std::uint64_t> start_operations, left_operations;
};

/// An endpoint with its reply.
struct Reply {
  Endpoint endpoint;
  Silence silence = Silence::kNone;
  /// Why there is no status, or why it would not do what it was asked; empty: all is well.
  std::string error;
  std::optional<ProcessStatus> status;
  std::string answer;  ///< as it came; empty: none
};

Reply read_reply(const Exchange& exchange);

}  // namespace ringside::live

#endif  // RINGSIDE_ANALYZER_LIVE_PROCESS_STATUS_H
