// SPDX-License-Identifier: Apache-2.0
//
// A process may write its trace in several files, of which the oldest may be deleted
// (docs/trace-format.md, "Segments"); the model has one file per process.
#ifndef RINGSIDE_ANALYZER_LOAD_SEGMENTS_H
#define RINGSIDE_ANALYZER_LOAD_SEGMENTS_H

#include <vector>

#include "analyzer/model/trace.h"

namespace ringside::load {

struct LoadedTrace;

/// Puts the segments of each run together, in the place of the oldest that is there. Files that are
/// no part of several stay as they are, and so do dumps.
void join_segments(model::Traces& traces);
/// Likewise; the traces of all but the oldest are empty then.
void join_segments(std::vector<LoadedTrace>& loaded);

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_SEGMENTS_H
