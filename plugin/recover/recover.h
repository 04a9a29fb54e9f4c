// SPDX-License-Identifier: Apache-2.0
//
// Makes a complete trace of what a process left behind when it died: the rings and the journal in
// its ring directory, and the trace file as far as it had got.
#ifndef RINGSIDE_PLUGIN_RECOVER_RECOVER_H
#define RINGSIDE_PLUGIN_RECOVER_RECOVER_H

#include <cstdint>
#include <string>
#include <vector>

namespace ringside::recover {

struct Options {
  std::string output_directory;  ///< empty: in place of the trace that the process had begun
  bool also_running = false;     ///< take a process that lives; nothing of it is removed
  bool keep = false;             ///< do not remove what has been recovered
};

struct Outcome {
  /// What kept the trace from being made; empty: nothing. Then nothing was changed or removed.
  std::string error;
  bool is_running = false;  ///< the reason: the process lives

  std::string trace;  ///< the file that was made; empty without an error: nothing was recorded
  bool removed = false;
  std::uint32_t pid = 0;
  std::uint64_t operations_before = 0;  ///< that the process had written to its trace
  std::uint64_t operations = 0;         ///< that were added
  std::uint64_t in_flight = 0;          ///< of those: not finished when the process died
  std::uint64_t records = 0;            ///< taken from the journal and the rings
  std::uint64_t callbacks = 0;          ///< of NCCL, in the whole life of the process
  std::uint64_t lost = 0;               ///< callbacks that left nothing to recover
  std::uint64_t unread_rings = 0;       ///< that could not be read; nothing is removed then
  std::vector<std::string> notes;       ///< what was not as it should be, a sentence each
};

/// Recovers one ring directory.
Outcome recover(const std::string& directory, const Options& options);

/// Where the trace of a process that died belongs, as its journal says; empty if that cannot be
/// read, or if the process lives.
std::string final_path(const std::string& directory);

/// The ring directories at a path: itself if it is one, else those in it.
std::vector<std::string> find_directories(const std::string& path);

}  // namespace ringside::recover

#endif  // RINGSIDE_PLUGIN_RECOVER_RECOVER_H
