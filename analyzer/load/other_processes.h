// SPDX-License-Identifier: Apache-2.0
//
// The only place where loading meets other processes. `ringside` has none; `ringside-mpi` has those
// that MPI has started.
#ifndef RINGSIDE_ANALYZER_LOAD_OTHER_PROCESSES_H
#define RINGSIDE_ANALYZER_LOAD_OTHER_PROCESSES_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/load/dump_choice.h"
#include "analyzer/load/inputs.h"
#include "analyzer/load/trace_loader.h"
#include "analyzer/model/problem.h"

namespace ringside::load {

/// A file that another process has read.
struct ReadFile {
  std::size_t number = 0;  // in the list of files that were shared out
  std::string partial;     // a partial of it
};

class OtherProcesses {
 public:
  OtherProcesses() = default;
  virtual ~OtherProcesses() = default;
  OtherProcesses(const OtherProcesses&) = delete;
  OtherProcesses& operator=(const OtherProcesses&) = delete;

  /// Does what load::find_inputs() does, with the files of all hosts.
  virtual Inputs find_inputs(const std::vector<std::string>& arguments, model::Problems& problems,
                             const DumpChoice& dumps) = 0;
  /// Has others begin to read files. Returns, for each file, whether one of them does.
  virtual std::vector<bool> share_out(const std::vector<std::string>& paths) = 0;
  /// Waits until some of these are read. Returns none if all have been given.
  virtual std::vector<ReadFile> receive() = 0;
};

/// Nothing, unless they were set.
OtherProcesses* other_processes();
void set_other_processes(OtherProcesses* others);

/// The size of a trace in a file; 0 if this host has no such file, or it is a pipe, a partial, a
/// dump or whatever else is no trace. Only its first bytes are looked at.
std::uint64_t trace_bytes(const std::string& path);

/// A partial of each file, of what was loaded of it. Throws std::runtime_error if one does not fit
/// into a partial.
std::vector<std::string> encode_files(const std::vector<std::string>& paths,
                                      const std::vector<LoadedTrace>& loaded);

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_OTHER_PROCESSES_H
