// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_TEST_LOAD_PLAIN_SEGMENTS_H
#define RINGSIDE_TEST_LOAD_PLAIN_SEGMENTS_H

#include <vector>

#include "analyzer/model/trace.h"

namespace ringside::plain {

/// Puts the segments of each process together, in the place of the oldest (docs/trace-format.md,
/// "Segments").
void join_segments(std::vector<model::TraceFile>& files);

}  // namespace ringside::plain

#endif  // RINGSIDE_TEST_LOAD_PLAIN_SEGMENTS_H
