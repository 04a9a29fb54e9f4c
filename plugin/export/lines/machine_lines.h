// SPDX-License-Identifier: Apache-2.0
//
// The lines of a reading of the machine: its GPUs, and the ports of its network adapters
// (docs/trace-format.md).
#ifndef RINGSIDE_PLUGIN_EXPORT_LINES_MACHINE_LINES_H
#define RINGSIDE_PLUGIN_EXPORT_LINES_MACHINE_LINES_H

#include <cstdint>

#include "plugin/export/lines/line_writer.h"
#include "plugin/topology/machine.h"

namespace ringside::exporting {

/// All lines have `ts_ns`, by which a reader knows the lines of one reading.
void write_machine(LineWriter& lines, std::int64_t ts_ns, const topology::Machine& machine);

}  // namespace ringside::exporting

#endif  // RINGSIDE_PLUGIN_EXPORT_LINES_MACHINE_LINES_H
