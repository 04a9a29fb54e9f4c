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

namespace ringside::chakra {

struct ExportChoice {
  std::string directory;
  Format format = Format::kProtobuf;
  bool replaces = false;
  /// Traces of PyTorch's profiler, each with the process that it is of (index into Traces::files).
  std::vector<std::pair<std::string, std::uint32_t>> profiles;
  /// PyTorch's execution traces likewise. They need a profile of the same process.
  std::vector<std::pair<std::string, std::uint32_t>> execution_traces;
};

struct ExportOutcome {
  /// The error, as a sentence with the path; empty if there is none.
  std::string error;
  std::vector<std::string> problems;  // files that could not be read to their end, and why
  std::vector<std::string> notes;
  std::uint64_t files = 0;
  std::uint64_t nodes = 0;
};

/// Returns why the directory cannot be written to, before anything is read; empty if it can.
std::string why_not(const ExportChoice& choice);

/// Writes all files under a temporary name first: either all ranks are there, or none.
ExportOutcome export_traces(const facts::Facts& facts, const ExportChoice& choice);

}  // namespace ringside::chakra

#endif  // RINGSIDE_ANALYZER_CHAKRA_EXPORT_H
