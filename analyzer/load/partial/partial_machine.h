// SPDX-License-Identifier: Apache-2.0
//
// The readings of the machine in a partial: tables of the readings, their GPUs, NVLinks and ports.
#ifndef RINGSIDE_ANALYZER_LOAD_PARTIAL_PARTIAL_MACHINE_H
#define RINGSIDE_ANALYZER_LOAD_PARTIAL_PARTIAL_MACHINE_H

#include <cstdint>
#include <map>
#include <string>

#include "analyzer/load/partial/partial_columns.h"
#include "plugin/topology/machine.h"

namespace ringside::load {

void write_machines(const std::map<std::int64_t, topology::Machine>& machines, std::string& bytes);

/// False if the tables are damaged. `machines` must be empty.
bool read_machines(ByteReader& bytes, std::map<std::int64_t, topology::Machine>& machines);

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_PARTIAL_PARTIAL_MACHINE_H
