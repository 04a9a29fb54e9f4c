// SPDX-License-Identifier: Apache-2.0
//
// Records of other profilers that tell how long each operation of a rank ran, but not when on a
// clock that ranks share: NCCL Inspector's lines and the traces of NVIDIA's example profiler. They
// give bandwidth, and never who came late.
#ifndef RINGSIDE_ANALYZER_LOAD_DURATIONS_H
#define RINGSIDE_ANALYZER_LOAD_DURATIONS_H

#include <string>
#include <string_view>

#include "analyzer/load/dump/flight_recorder.h"

namespace ringside::load {

/// Says why another command does not take such records.
std::string durations_refused();

/// Whether a file with these first bytes may have such records: it is cheap.
bool begins_as_durations(std::string_view bytes);

/// Reads the records of one process. Returns why they are none that can be read; empty if they are.
/// A record that is left out is a problem.
std::string read_durations(std::string_view text, Dump& records);

/// The formats, each in a source file of its own.
bool begins_as_inspector(std::string_view bytes);
std::string read_inspector(std::string_view text, Dump& records);
bool begins_as_example_profiler(std::string_view bytes);
std::string read_example_profiler(std::string_view text, Dump& records);

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_DURATIONS_H
