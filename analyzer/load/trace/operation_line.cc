// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/trace/operation_line.h"

namespace ringside::load {

Failure impossible_times(const model::Operation& operation) {
  // It may be known to have ended although its times cannot be true; they come from the enqueue
  // then.
  if (operation.state == model::State::kCompleted &&
      operation.times_from != model::TimesFrom::kEnqueue &&
      !(operation.start_ns && operation.end_ns)) {
    return "\"state\" is completed, but \"start_ns\" or \"end_ns\" is missing";
  }
  if (operation.start_ns.value_or(0) < 0 || operation.end_ns.value_or(0) < 0) {
    return "\"start_ns\" or \"end_ns\" is negative";
  }
  if (operation.start_ns && operation.end_ns && *operation.end_ns < *operation.start_ns) {
    return "\"end_ns\" is before \"start_ns\"";
  }
  return std::nullopt;
}

Failure OperationReader::finish() const {
  if (!is_operation()) {
    return std::nullopt;
  }
  if (const std::string_view key = missing(); !key.empty()) {
    return failure_of(simdjson::NO_SUCH_FIELD, key);
  }
  if (line().func == model::kNoName) {  // it is absent or empty
    return failure_of(simdjson::NO_SUCH_FIELD, "func");
  }
  return impossible_times(line());
}

}  // namespace ringside::load
