// SPDX-License-Identifier: Apache-2.0
//
// The graphs of each process: PyTorch's profiler may have recorded it several times, one after the
// other, and each time has a graph of its own.
#ifndef RINGSIDE_ANALYZER_METRICS_STEPS_GRAPHS_BY_FILE_H
#define RINGSIDE_ANALYZER_METRICS_STEPS_GRAPHS_BY_FILE_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "analyzer/match/calls/common_clock.h"
#include "analyzer/metrics/steps/step_path.h"
#include "analyzer/model/trace.h"

namespace ringside::metrics {

class GraphsByFile {
 public:
  explicit GraphsByFile(const std::vector<ProcessGraph>& graphs);

  /// The graphs of a process, by the begin of their recordings: indices.
  const std::vector<std::uint32_t>& of(std::uint32_t file) const;

  /// Finds the graph that has an operation of the process; nothing if none has it. If several have
  /// it, this is the last one that began before `called_ns`, since the epoch. Without that, it is
  /// the last one that began before the operation. At the border of two profiles the first one has
  /// the call, and both may have the kernel.
  std::optional<std::uint32_t> at(std::uint32_t file, std::size_t operation,
                                  std::optional<std::int64_t> called_ns) const;

 private:
  const std::vector<ProcessGraph>& graphs_;
  std::map<std::uint32_t, std::vector<std::uint32_t>> by_file_;
};

/// Says which steps of all processes are one: those that have the same name and number. Until then
/// each profile counts for itself. The steps of one name are counted over all profiles of a
/// process. A process that has fewer of them than another one was not profiled all the time: each
/// of its steps then gets the number of that step of the other one that began at the nearest time,
/// by the clock. A profile without ranges that are steps is itself one only if no profile has any.
void number_steps(const model::Traces& traces, const match::CommonClock& clock,
                  std::vector<ProcessGraph>& graphs);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_STEPS_GRAPHS_BY_FILE_H
