// SPDX-License-Identifier: Apache-2.0
//
// The lines of a reading of the machine: ringside_topology, ringside_gpu and ringside_port.
#ifndef RINGSIDE_ANALYZER_LOAD_TRACE_MACHINE_LINE_H
#define RINGSIDE_ANALYZER_LOAD_TRACE_MACHINE_LINE_H

#include <string_view>

#include "analyzer/load/json/event_parser.h"
#include "analyzer/load/trace/part.h"

namespace ringside::load {

bool is_machine_line(std::string_view name);

/// Reads one of them into the part's readings. They are joined by their time: a reading may be
/// repeated in a later segment, and its lines may be in several parts.
Failure read_machine_line(EventParser& parser, const Event& event, Part& part);

/// Adds the readings of the part `next` to those of `known`.
void append_machines(std::map<std::int64_t, topology::Machine>&& next,
                     std::map<std::int64_t, topology::Machine>& known);

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_TRACE_MACHINE_LINE_H
