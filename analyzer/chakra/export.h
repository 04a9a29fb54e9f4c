// SPDX-License-Identifier: Apache-2.0
//
// `ringside export --chakra`: a directory with the execution trace of each rank, as Chakra's schema
// has them. docs/chakra.md says what is in them.
#ifndef RINGSIDE_ANALYZER_CHAKRA_EXPORT_H
#define RINGSIDE_ANALYZER_CHAKRA_EXPORT_H

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/chakra/trace_file.h"
#include "analyzer/facts/facts.h"
#include "analyzer/match/kineto/kineto_join.h"

namespace ringside::chakra {

struct ExportChoice {
  std::string directory;
  Format format = Format::kProtobuf;
  bool replaces = false;
  std::vector<const match::KinetoFileJoin*> profiles;  // must outlive the export
  /// PyTorch's execution traces, each with the process that it is of (index into Traces::files).
  /// They need a profile of the same process.
  std::vector<std::pair<std::string, std::uint32_t>> execution_traces;
};

struct ExportOutcome {
  /// The error, as a sentence with the path; empty if there is none.
  std::string error;
  bool is_not_made = false;           // the directory cannot be made
  std::vector<std::string> problems;  // files that are left out or not read to their end, and why
  std::vector<std::string> notes;
  std::uint64_t files = 0;
  std::uint64_t nodes = 0;
  std::uint64_t profiles = 0;  // that are in the traces
};

/// Returns why the directory cannot be written to, before anything is read; empty if it can.
std::string why_not(const ExportChoice& choice);

/// Writes all files under a temporary name first: either all ranks are there, or none.
ExportOutcome export_traces(const facts::Facts& facts, const ExportChoice& choice);

}  // namespace ringside::chakra

#endif  // RINGSIDE_ANALYZER_CHAKRA_EXPORT_H
