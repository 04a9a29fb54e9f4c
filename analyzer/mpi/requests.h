// SPDX-License-Identifier: Apache-2.0
//
// The requests of process 0 and the answers of the others, as they are packed:
//   kFind    the arguments, then the choice of dumps -> FoundFiles
//   kRead    1 where all hosts see the same files, else 0; then the number, the size and the path
//            of each file -> some messages, each with numbers and partials of some of the files
//   kEnd     nothing -> Statistics; the process ends
#ifndef RINGSIDE_ANALYZER_MPI_REQUESTS_H
#define RINGSIDE_ANALYZER_MPI_REQUESTS_H

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/load/dump_choice.h"
#include "analyzer/load/inputs.h"
#include "analyzer/load/other_processes.h"
#include "analyzer/model/problem.h"

namespace ringside::mpi {

class Messages;
class Packer;
class Unpacker;

enum class Request : std::uint64_t { kFind, kRead, kEnd };

/// The state of a file, by which it is known whether two hosts see the same one.
struct FileState {
  std::uint64_t bytes = 0;
  std::int64_t changed_ns = 0;

  bool operator==(const FileState&) const = default;
};

/// The files that a host has.
struct FoundFiles {
  load::Inputs inputs;
  std::vector<FileState> states;                              // of inputs.paths
  std::vector<std::pair<std::string, std::string>> problems;  // paths and reasons
};

FoundFiles find_on_this_host(const std::vector<std::string>& arguments,
                             const load::DumpChoice& dumps);

/// The work that a process has done.
struct Statistics {
  std::uint64_t files = 0;  // that it has read for others
  std::uint64_t bytes = 0;  // of these
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
  std::uint64_t cpu_ms = 0;
  std::uint64_t peak_bytes = 0;  // of its memory
};

/// Adds what the system and the messages know of this process.
void complete(const Messages& messages, Statistics& statistics);

void pack(const load::DumpChoice& dumps, Packer& packer);
load::DumpChoice unpack_dump_choice(Unpacker& unpacker);
void pack(const FoundFiles& found, Packer& packer);
FoundFiles unpack_found(Unpacker& unpacker);
void pack(const Statistics& statistics, Packer& packer);
Statistics unpack_statistics(Unpacker& unpacker);

}  // namespace ringside::mpi

#endif  // RINGSIDE_ANALYZER_MPI_REQUESTS_H
