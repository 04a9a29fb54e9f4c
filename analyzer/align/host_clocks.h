// SPDX-License-Identifier: Apache-2.0
//
// Files that share a clock. The times of a process are CLOCK_MONOTONIC of its host plus a constant,
// so all processes of one boot of one host are on one clock exactly; between hosts, CLOCK_REALTIME
// is where the search for the offset begins.
#ifndef RINGSIDE_ANALYZER_ALIGN_HOST_CLOCKS_H
#define RINGSIDE_ANALYZER_ALIGN_HOST_CLOCKS_H

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/model/trace.h"

namespace ringside::align {

struct HostClock {
  std::string name;  // of the host; with " (2)" and so on where several boots have the same
  std::uint32_t files = 0;
};

struct HostClocks {
  std::vector<HostClock> hosts;             // in the order of the files
  std::vector<std::uint32_t> host_of_file;  // index into hosts
  /// Add to a time of the file: nanoseconds since the epoch as the host's CLOCK_REALTIME had it
  /// when its first file was begun. Never stepped, and the same for all files of the host.
  std::vector<std::int64_t> since_epoch_ns;
};

HostClocks find_host_clocks(const model::Traces& traces);

}  // namespace ringside::align

#endif  // RINGSIDE_ANALYZER_ALIGN_HOST_CLOCKS_H
