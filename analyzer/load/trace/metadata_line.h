// SPDX-License-Identifier: Apache-2.0
//
// Reads the metadata lines ("ph":"M") that the analysis needs; others are ignored.
#ifndef RINGSIDE_ANALYZER_LOAD_TRACE_METADATA_LINE_H
#define RINGSIDE_ANALYZER_LOAD_TRACE_METADATA_LINE_H

#include <string_view>

#include "analyzer/load/json/event_parser.h"
#include "analyzer/load/trace/part.h"

namespace ringside::load {

/// Reads the ringside_trace line. Fails where the format is newer than this reader.
Failure read_process(EventParser& parser, const Event& event, model::Process& process);

/// Whether the analysis needs the metadata lines of this name.
bool is_needed_metadata(std::string_view name);

/// Reads one of these into the part it belongs to; a bad one changes nothing.
Failure read_metadata(EventParser& parser, const Event& event, Part& part);

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_TRACE_METADATA_LINE_H
