// SPDX-License-Identifier: Apache-2.0
//
// The readings of the machine in a trace, by docs/trace-format.md alone.
#ifndef RINGSIDE_TEST_LOAD_PLAIN_MACHINE_H
#define RINGSIDE_TEST_LOAD_PLAIN_MACHINE_H

#include <string>

#include "analyzer/model/trace.h"
#include "test/load/plain_json.h"

namespace ringside::plain {

/// Whether a metadata line of that name is a part of such a reading.
bool is_of_machine(const std::string& name);

/// Reads it; false if it is bad, and has changed nothing then.
bool read_machine(const std::string& name, const Members& args, model::TraceFile& file);

/// Adds the GPUs and ports of a reading that are told again, or are new.
void join_machine(const topology::Machine& next, topology::Machine& whole);

}  // namespace ringside::plain

#endif  // RINGSIDE_TEST_LOAD_PLAIN_MACHINE_H
