// SPDX-License-Identifier: Apache-2.0
//
// An execution trace of PyTorch (ExecutionTraceObserver): the operators of one process, with their
// tensors, and without times.
#ifndef RINGSIDE_ANALYZER_MODEL_KINETO_EXECUTION_TRACE_H
#define RINGSIDE_ANALYZER_MODEL_KINETO_EXECUTION_TRACE_H

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace ringside::model {

struct ExecutionNode {
  /// Texts of JSON, as the trace has them.
  struct Tensors {
    std::string values;
    std::string shapes;
    std::string types;
  };

  std::int64_t id = 0;
  std::string name;
  Tensors inputs;
  Tensors outputs;
  /// All but rf_id, in their order: whole numbers, and texts. Other values are a text of JSON.
  std::vector<std::pair<std::string, std::variant<std::int64_t, std::string>>> attributes;
};

struct ExecutionTrace {
  std::string schema;  // "1.1.1-chakra.0.0.4"
  std::optional<std::int64_t> pid;
  /// By the number of the record function (rf_id), which the profiler's operators have, too.
  std::unordered_map<std::int64_t, ExecutionNode> nodes;
  std::uint64_t damaged = 0;
};

}  // namespace ringside::model

#endif  // RINGSIDE_ANALYZER_MODEL_KINETO_EXECUTION_TRACE_H
