// SPDX-License-Identifier: Apache-2.0
//
// The processes that may have a control socket (docs/dev/control-socket.md): ring directories.
#ifndef RINGSIDE_ANALYZER_LIVE_ENDPOINT_H
#define RINGSIDE_ANALYZER_LIVE_ENDPOINT_H

#include <cstdint>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <unistd.h>
#include <vector>

namespace ringside::live {

struct Endpoint {
  static constexpr uid_t kNobodyKnown = static_cast<uid_t>(-1);

  std::string host;          ///< that was asked for it; empty: this one
  std::string path;          ///< the ring directory
  std::string stem;          ///< of its trace's name: what stands before .json
  std::int64_t pid = 0;      ///< by the name, as the process itself sees it; 0: not known
  uid_t uid = kNobodyKnown;  ///< of the directory, and so of the process

  bool is_own() const { return uid == geteuid(); }
  /// Its path, with its host's name before it where that was asked.
  std::string place() const { return host.empty() ? path : host + ':' + path; }
};

/// Returns a part of ringside.JOB.HOST.PID.START, in which no part has a dot; empty if not there.
std::string_view part_of_stem(std::string_view stem, int index);

/// The ring directories in `parent`, in the order of their names. `error` is why it cannot be read.
std::vector<Endpoint> find_endpoints(const std::string& parent, std::string& error);

}  // namespace ringside::live

#endif  // RINGSIDE_ANALYZER_LIVE_ENDPOINT_H
