// SPDX-License-Identifier: Apache-2.0
//
// Whether a communicator was recorded from its first call on.
#ifndef RINGSIDE_ANALYZER_MATCH_COMMUNICATORS_RECORDED_FROM_START_H
#define RINGSIDE_ANALYZER_MATCH_COMMUNICATORS_RECORDED_FROM_START_H

#include <cstdint>

#include "analyzer/model/trace.h"

namespace ringside::match {

/// True if the process recorded when it created the communicator, and its first window is known.
bool is_recorded_from_start(const model::TraceFile& file, std::uint32_t context);

}  // namespace ringside::match

#endif  // RINGSIDE_ANALYZER_MATCH_COMMUNICATORS_RECORDED_FROM_START_H
