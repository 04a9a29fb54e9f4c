// SPDX-License-Identifier: Apache-2.0
//
// The NCCL libraries of this machine, and the facts known about their releases.
#ifndef RINGSIDE_ANALYZER_LAUNCH_NCCL_H
#define RINGSIDE_ANALYZER_LAUNCH_NCCL_H

#include <string>
#include <vector>

namespace ringside::launch {

struct NcclLibrary {
  std::string path;
  std::string found_by;  ///< "the loader", "python3", "--nccl"
  int version = 0;       ///< as ncclGetVersion gives it, e.g. 22907; 0: not known, see error
  std::string error;
};

/// NCCL as programs started from here would find it: by the loader (LD_LIBRARY_PATH, its cache) and
/// in the packages of the `python3` in PATH. With `file`, that one only. Each is loaded in a child
/// process, which does not initialise CUDA. A library that programs are linked with statically, or
/// name by an RPATH of their own, is not found.
std::vector<NcclLibrary> find_nccl(const std::string& file);

/// "2.29.7" of 22907.
std::string version_text(int version);

/// The newest version of the profiler interface that a release knows; 0: none, it is older than
/// 2.23.
int interface_of(int version);

/// From 2.29.2 on, with its default NCCL_ALLGATHERV_ENABLE=1, NCCL tells a profiler of a
/// broadcast's call only, and kernel channels can make it hang (docs/environment.md). No release is
/// known to be mended.
bool hides_broadcasts(int version);

struct ProfilerPlugin {
  std::vector<int> interfaces;  ///< versions of NCCL's profiler interface that it exports
  bool is_ringside = false;     ///< it has Ringside's C API
  std::string error;            ///< why it cannot be loaded
};

/// Loads a profiler plugin in a child process and looks at what it exports.
ProfilerPlugin look_at_plugin(const std::string& path);

/// Whether a library can be loaded by its name, in a child process: its path, or "".
std::string find_library(const std::string& name);

}  // namespace ringside::launch

#endif  // RINGSIDE_ANALYZER_LAUNCH_NCCL_H
