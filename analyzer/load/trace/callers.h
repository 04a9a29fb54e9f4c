// SPDX-License-Identifier: Apache-2.0
//
// Finds the callers of a trace's operations: the ranges around calls of torch.distributed.
#ifndef RINGSIDE_ANALYZER_LOAD_TRACE_CALLERS_H
#define RINGSIDE_ANALYZER_LOAD_TRACE_CALLERS_H

#include <string_view>

#include "analyzer/model/trace.h"

namespace ringside::load {

/// Gives a mark the name that it has in a trace. A range around a call of torch.distributed gets
/// what its name says (docs/trace-format.md), and is itself named by the line and the function,
/// since its other fields differ from call to call.
void name_mark(std::string_view name, std::string_view source, model::NameTable& names,
               model::Mark& mark);

/// Gives each operation what the innermost of these ranges says that was open on its thread when it
/// was enqueued. Operations without one stay as they are.
void find_callers(model::Traces& traces);

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_TRACE_CALLERS_H
