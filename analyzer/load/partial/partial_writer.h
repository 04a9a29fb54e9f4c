// SPDX-License-Identifier: Apache-2.0
//
// Writes what was loaded as a partial: partial_start(), the sections of each trace, partial_end().
#ifndef RINGSIDE_ANALYZER_LOAD_PARTIAL_PARTIAL_WRITER_H
#define RINGSIDE_ANALYZER_LOAD_PARTIAL_PARTIAL_WRITER_H

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/load/trace_loader.h"

namespace ringside::load {

/// The sections of each trace, made on all cores. They are empty if the trace has more names and
/// marks than a partial can hold.
std::vector<std::string> encode_traces(const std::vector<LoadedTrace>& loaded);

/// The end of a sentence about such a trace.
inline constexpr char kTooLargeForPartial[] = ": a trace has more than 1 GiB of names and marks";

std::string partial_end(std::uint64_t traces);

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_PARTIAL_PARTIAL_WRITER_H
