// SPDX-License-Identifier: Apache-2.0
//
// Reads the file that PyTorch's ExecutionTraceObserver writes (.json, .json.gz), node by node.
#ifndef RINGSIDE_ANALYZER_LOAD_KINETO_EXECUTION_TRACE_H
#define RINGSIDE_ANALYZER_LOAD_KINETO_EXECUTION_TRACE_H

#include <cstdint>
#include <optional>
#include <string>

#include "analyzer/model/kineto/execution_trace.h"

namespace ringside::load {

/// Returns why the file is no execution trace, or cannot be read to its end; nothing if it is one.
/// Nodes are those of schema 1.0.2 and newer: number and kind of attribute are in "attrs".
std::optional<std::string> read_execution_trace(const std::string& path,
                                                model::ExecutionTrace& trace);

/// Reads no more than the process's id, which is before the nodes. Returns why that cannot be read.
std::optional<std::string> read_pid_of_execution_trace(const std::string& path, std::int64_t& pid);

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_KINETO_EXECUTION_TRACE_H
