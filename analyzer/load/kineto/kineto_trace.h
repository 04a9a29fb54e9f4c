// SPDX-License-Identifier: Apache-2.0
//
// A trace of PyTorch's profiler as columns (model/kineto.h).
#ifndef RINGSIDE_ANALYZER_LOAD_KINETO_KINETO_TRACE_H
#define RINGSIDE_ANALYZER_LOAD_KINETO_KINETO_TRACE_H

#include <optional>
#include <string>

#include "analyzer/model/kineto/kineto.h"

namespace ringside::load {

/// Reads a trace of PyTorch's profiler. Arrows and what nothing needs are left out as they are
/// read, and so are Python's functions if they are not wanted: they are most of a trace that has
/// them. Returns why the file is no such trace, or cannot be read to its end; nothing if it is one.
std::optional<std::string> read_kineto_trace(const std::string& path, model::KinetoTrace& trace,
                                             bool wants_python = false);

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_KINETO_KINETO_TRACE_H
