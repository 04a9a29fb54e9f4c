// SPDX-License-Identifier: Apache-2.0
//
// Other sources on a host that know of a job in trouble: the kernel, NCCL's RAS service, PyTorch's
// Flight Recorder. It changes no verdict.
#ifndef RINGSIDE_LIVE_HOSTS_EVIDENCE_H
#define RINGSIDE_LIVE_HOSTS_EVIDENCE_H

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ringside::live {

struct Evidence {
  std::string source;  ///< "kernel", "ras", "flight_recorder", "stack"
  std::string text;    ///< lines of the source, bounded; empty: it says nothing
  std::string reason;  ///< why there is none; empty: it was asked
};

/// All sources of this host. It takes hardly longer than `timeout`.
std::vector<Evidence> evidence_here(std::chrono::milliseconds timeout);

/// The last 20 records that tell of a GPU error (Xid) or of a process that was killed for want of
/// memory, each a line with its moment. `kmsg`: records as /dev/kmsg has them. `boot_ns`: the
/// moment of boot since the epoch. Records from before `since_ns` are left out.
std::string kernel_troubles(std::string_view kmsg, std::int64_t boot_ns, std::int64_t since_ns);

}  // namespace ringside::live

#endif  // RINGSIDE_LIVE_HOSTS_EVIDENCE_H
