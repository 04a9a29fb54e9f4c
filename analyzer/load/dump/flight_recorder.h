// SPDX-License-Identifier: Apache-2.0
//
// Reads a dump of PyTorch's Flight Recorder as the trace of one process. A dump knows what was
// called and what was seen to finish, in which process group. It does not know when it was made, on
// which host, or when something began or ended, and all that is left out.
#ifndef RINGSIDE_ANALYZER_LOAD_DUMP_FLIGHT_RECORDER_H
#define RINGSIDE_ANALYZER_LOAD_DUMP_FLIGHT_RECORDER_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "analyzer/load/pickle/plain_tree.h"
#include "analyzer/model/problem.h"
#include "analyzer/model/trace.h"

namespace ringside::load {

/// Whether a file with these first bytes may be a dump, as a pickle or as JSON: it is cheap.
bool begins_as_dump(std::string_view bytes);
/// How many bytes that needs.
inline constexpr std::size_t kDumpStartBytes = 64;

/// The rank that a file's name ends with, behind `prefix` (of the name, not of the directory) if
/// there is one. Nothing if it does not, as where a process without a rank wrote -1.
std::optional<std::int64_t> rank_of_dump(std::string_view path, std::string_view prefix);

struct Dump {
  bool has_tensors = true;  // to be said before it is read: those of the calls are wanted
  model::TraceFile file;    // without a path
  model::NameTable names;
  model::Problems problems{SIZE_MAX};  // all of its entries; lines are their places, from 1
};

/// Returns why it is no dump that can be read; empty if it is one. The names of `dump` are copies.
std::string read_dump(const PlainTree& tree, const PlainValue& root, std::int64_t rank, Dump& dump,
                      std::uint32_t replica_ranks = 0);

/// The same from the bytes of a file.
std::string read_dump(std::string_view bytes, std::int64_t rank, Dump& dump,
                      std::uint32_t replica_ranks = 0);

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_DUMP_FLIGHT_RECORDER_H
