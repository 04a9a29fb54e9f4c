// SPDX-License-Identifier: Apache-2.0
//
// Makes a complete trace from the files of a dead process: the rings and the journal in its ring
// directory, and the unfinished trace file.
#ifndef RINGSIDE_PLUGIN_RECOVER_RECOVER_H
#define RINGSIDE_PLUGIN_RECOVER_RECOVER_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plugin/result/result.h"

namespace ringside::recover {

struct Options {
  std::string output_directory;  ///< empty: replace the trace that the process had begun
  bool also_running = false;     ///< recover a process that lives, too; nothing of it is removed
  /// Do not remove the rings and the journal afterwards. Those of another user are never removed.
  bool keep = false;
};

struct Outcome {
  /// Why no trace could be made, if none could. Nothing was changed or removed then.
  Result result;
  bool is_running = false;  ///< the error is that the process lives

  std::string trace;  ///< the file that was made; empty after a success: nothing was recorded
  bool removed = false;
  std::uint32_t pid = 0;
  std::uint64_t operations_before = 0;  ///< operations that the process had written to its trace
  std::uint64_t operations = 0;         ///< operations that recovery added
  std::uint64_t in_flight = 0;  ///< added operations that were not finished when the process died
  std::uint64_t records = 0;    ///< records read from the journal and the rings
  std::uint64_t callbacks = 0;  ///< NCCL's callbacks in the whole life of the process
  std::uint64_t lost = 0;       ///< callbacks that left nothing to recover
  std::uint64_t unread_rings = 0;  ///< rings that could not be read; if any, nothing is removed
  std::vector<std::string> notes;  ///< one sentence for each irregularity
};

Outcome recover(const std::string& directory, const Options& options);

/// Returns the path that the journal names for the trace of a dead process. Empty if there is
/// nothing in the directory of which a trace could be made: it only is to be removed. Nothing if
/// the journal cannot be read, or if the process lives.
std::optional<std::string> final_path(const std::string& directory);

/// Returns the ring directories at a path: the path itself if it is one, else those in it.
std::vector<std::string> find_directories(const std::string& path);

}  // namespace ringside::recover

#endif  // RINGSIDE_PLUGIN_RECOVER_RECOVER_H
