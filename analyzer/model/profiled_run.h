// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_ANALYZER_MODEL_PROFILED_RUN_H
#define RINGSIDE_ANALYZER_MODEL_PROFILED_RUN_H

#include <string_view>

#include "analyzer/model/trace.h"

namespace ringside::model {

/// The run_id of a process that is made of a profile begins with this.
inline constexpr std::string_view kProfiledRun = "PyTorch's profiler, ";

inline bool is_profile(const TraceFile& file) {
  return file.process.run_id.starts_with(kProfiledRun);
}

}  // namespace ringside::model

#endif  // RINGSIDE_ANALYZER_MODEL_PROFILED_RUN_H
