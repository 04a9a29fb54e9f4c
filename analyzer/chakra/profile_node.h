// SPDX-License-Identifier: Apache-2.0
//
// Nodes of what a trace of PyTorch's profiler tells: operators of the CPU, and work of the GPU.
#ifndef RINGSIDE_ANALYZER_CHAKRA_PROFILE_NODE_H
#define RINGSIDE_ANALYZER_CHAKRA_PROFILE_NODE_H

#include <cstdint>

#include "analyzer/chakra/node.h"
#include "analyzer/model/kineto/execution_trace.h"
#include "analyzer/model/kineto/kineto.h"

namespace ringside::chakra {

/// Each without dependencies and times. `call` and `activity`: indices of the trace's columns.
Node call_node(const model::KinetoTrace& trace, std::uint32_t call);
Node activity_node(const model::KinetoTrace& trace, std::uint32_t activity);

/// Says of an operator what PyTorch's execution trace tells: tensors, schema, and other attributes.
void add_execution_node(const model::ExecutionNode& from, Node& node);

/// Says of an operation's node which kernel ran it, and on which stream.
void add_kernel(const model::KinetoTrace& trace, std::uint32_t activity, Node& node);

}  // namespace ringside::chakra

#endif  // RINGSIDE_ANALYZER_CHAKRA_PROFILE_NODE_H
