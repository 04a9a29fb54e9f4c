// SPDX-License-Identifier: Apache-2.0
//
// The calls of NCCL of one rank in one of PyTorch's process groups, in their order: what records of
// PyTorch's own are joined with.
#ifndef RINGSIDE_ANALYZER_MATCH_GROUP_CALLS_H
#define RINGSIDE_ANALYZER_MATCH_GROUP_CALLS_H

#include <cstddef>
#include <cstdint>
#include <set>
#include <string_view>
#include <vector>

#include "analyzer/match/calls/torch_calls.h"
#include "analyzer/model/name_table.h"
#include "analyzer/model/trace.h"

namespace ringside::match {

/// The process group's name in a communicator's: "default_pg:0" and "0" are of the group "0".
std::string_view group_of_communicator(std::string_view name);

/// Whether no call of its windows is missing from a trace.
bool has_all_calls(const model::TraceFile& file);

/// The host's clock when a trace has this time.
class HostClock {
 public:
  explicit HostClock(const model::TraceFile& file) : file_(file) {}

  /// Nanoseconds since the epoch.
  std::int64_t at(std::int64_t time_ns) const;
  /// The time of the trace at which the host's clock shows this.
  std::int64_t when(std::int64_t epoch_ns) const;

 private:
  const model::TraceFile& file_;
};

struct GroupCalls {
  std::vector<NcclCall> calls;
  std::vector<std::int64_t> called_ns;  // since the epoch
  std::vector<std::size_t> index;       // of the trace's operations
};

/// The calls of these communicators of a trace. The names must live as long as what is returned.
GroupCalls group_calls(const model::NameTable& names, const model::TraceFile& trace,
                       const std::set<std::uint32_t>& contexts);

}  // namespace ringside::match

#endif  // RINGSIDE_ANALYZER_MATCH_GROUP_CALLS_H
