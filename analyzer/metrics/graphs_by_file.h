// SPDX-License-Identifier: Apache-2.0
//
// The graphs of each process: PyTorch's profiler may have recorded it several times, one after the
// other, and each time has a graph of its own.
#ifndef RINGSIDE_ANALYZER_METRICS_GRAPHS_BY_FILE_H
#define RINGSIDE_ANALYZER_METRICS_GRAPHS_BY_FILE_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "analyzer/metrics/step_path.h"

namespace ringside::metrics {

class GraphsByFile {
 public:
  explicit GraphsByFile(const std::vector<ProcessGraph>& graphs);

  /// The graphs of a process, by the begin of their first steps: indices.
  const std::vector<std::uint32_t>& of(std::uint32_t file) const;

  /// The graph whose profile was the last to begin before an operation of the process did. Nothing
  /// if the process has no graph.
  std::optional<std::uint32_t> at(std::uint32_t file, std::size_t operation) const;

 private:
  const std::vector<ProcessGraph>& graphs_;
  std::map<std::uint32_t, std::vector<std::uint32_t>> by_file_;
};

/// Counts the occurrences of a step's name over all profiles of a process: until then they are
/// counted in each.
void number_steps(std::vector<ProcessGraph>& graphs);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_GRAPHS_BY_FILE_H
