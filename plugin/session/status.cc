// SPDX-License-Identifier: Apache-2.0
#include "plugin/session/status.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "plugin/drain/trace_account.h"

namespace ringside::session {

void add_counts(const drain::TraceWriter& writer, ringside_status_info& info) {
  const drain::TraceFigures& figures = writer.figures();
  const assemble::TypeAccount of_threads = drain::TraceAccount::of_threads();
  info.callbacks = of_threads.produced;
  info.dropped = figures.lost + of_threads.dropped();
  info.operations = figures.operations;
  info.bytes_written = figures.bytes_written;
  info.trouble = figures.trouble ? 1 : 0;
  const std::string path = figures.has_file ? writer.path() : std::string();
  std::memcpy(info.trace_path, path.data(), std::min(path.size(), sizeof info.trace_path - 1));
  info.bytes_kept = figures.bytes_kept;
  info.rotated = figures.rotated;
}

}  // namespace ringside::session
