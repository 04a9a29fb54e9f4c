// SPDX-License-Identifier: Apache-2.0
//
// Writes what was loaded as a partial: partial_start(), the sections of each trace, partial_end().
#ifndef RINGSIDE_ANALYZER_LOAD_PARTIAL_WRITER_H
#define RINGSIDE_ANALYZER_LOAD_PARTIAL_WRITER_H

#include <cstddef>
#include <cstdint>
#include <string>

#include "analyzer/load/trace_loader.h"

namespace ringside::load {

/// The sections of a trace are so many; threads may make them at the same time. The first is empty
/// if a trace has more names and marks than a partial can hold (1 GiB of them).
std::size_t section_count(const LoadedTrace& loaded);
std::string encode_section(const LoadedTrace& loaded, std::size_t section);

std::string partial_end(std::uint64_t traces);

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_PARTIAL_WRITER_H
