// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/operation_line.h"

#include <array>
#include <string_view>
#include <utility>

#include "analyzer/load/json_value.h"

namespace ringside::load {
namespace {

using simdjson::error_code;
using Value = simdjson::ondemand::value;

constexpr std::array<std::pair<std::string_view, model::Kind>, 4> kKinds = {{
    {"coll", model::Kind::kCollective},
    {"p2p", model::Kind::kPointToPoint},
    {"ce", model::Kind::kCopyEngine},
    {"api", model::Kind::kApi},
}};
constexpr std::array<std::pair<std::string_view, model::TimesFrom>, 4> kSources = {{
    {"gpu", model::TimesFrom::kGpu},
    {"proxy", model::TimesFrom::kProxy},
    {"proxy_queue", model::TimesFrom::kProxyQueue},
    {"enqueue", model::TimesFrom::kEnqueue},
}};
constexpr std::array<std::pair<std::string_view, model::State>, 3> kStates = {{
    {"completed", model::State::kCompleted},
    {"started", model::State::kStarted},
    {"enqueued", model::State::kEnqueued},
}};

template <typename Word, std::size_t kSize>
error_code take_word(Value& value,
                     const std::array<std::pair<std::string_view, Word>, kSize>& words,
                     std::optional<Word>& result) {
  std::string_view text;
  if (const auto error = value.get_string().get(text)) {
    return error;
  }
  for (const auto& [word, meaning] : words) {
    if (word == text) {
      result = meaning;
      return simdjson::SUCCESS;
    }
  }
  return simdjson::INCORRECT_TYPE;
}

error_code take_name(Value& value, model::NameTable& names, model::NameId& result) {
  std::string_view text;
  if (const auto error = value.get_string().get(text)) {
    return error;
  }
  result = names.id(text);
  return simdjson::SUCCESS;
}

// Keys that every operation has; the others may be absent.
struct Required {
  std::optional<std::uint64_t> op;
  std::optional<std::uint32_t> context;
  std::optional<model::Kind> kind;
  std::optional<model::TimesFrom> times_from;
  std::optional<model::State> state;
};

class Reader {
 public:
  Reader(model::NameTable& names, OperationLine& line, Required& required)
      : names_(names), line_(line), operation_(line.operation), required_(required) {}

  error_code operator()(std::string_view key, Value& value) {
    if (key == "op") return take_integer(value, required_.op);
    if (key == "context") return take_integer(value, required_.context);
    if (key == "kind") return take_word(value, kKinds, required_.kind);
    if (key == "times_from") return take_word(value, kSources, required_.times_from);
    if (key == "state") return take_word(value, kStates, required_.state);
    if (key == "func") return take_name(value, names_, operation_.func);
    if (key == "datatype") return take_name(value, names_, operation_.datatype);
    if (key == "algo") return take_name(value, names_, operation_.algo);
    if (key == "proto") return take_name(value, names_, operation_.proto);
    if (key == "seq") return take_integer(value, operation_.seq);
    if (key == "count") return take_integer(value, operation_.count);
    if (key == "bytes") return take_integer(value, operation_.bytes);
    if (key == "root") return take_integer(value, operation_.root);
    if (key == "peer") return take_integer(value, operation_.peer);
    if (key == "enqueue_start_ns") return take_integer(value, operation_.enqueue_start_ns);
    if (key == "start_ns") return take_integer(value, operation_.start_ns);
    if (key == "end_ns") return take_integer(value, operation_.end_ns);
    if (key == "enqueue_end_ns") return take_integer(value, operation_.enqueue_end_ns);
    if (key == "group") return take_integer(value, operation_.group);
    if (key == "stream") return take_name(value, names_, operation_.stream);
    if (key == "window") return take_integer(value, operation_.window);
    if (key == "channels") return take_integer(value, operation_.channels);
    if (key == "gpu_rejected") return take_integer(value, operation_.gpu_rejected);
    if (key == "gpu_polled") return value.get_bool().get(operation_.gpu_polled);
    if (key == "graph") return value.get_bool().get(operation_.graph);
    if (key == "in_flight") return value.get_bool().get(operation_.in_flight);
    if (key == "comm") return take_text(value, line_.comm.emplace());
    if (key == "rank") return take_integer(value, line_.rank);
    if (key == "nranks") return take_integer(value, line_.nranks);
    return simdjson::SUCCESS;
  }

 private:
  model::NameTable& names_;
  OperationLine& line_;
  model::Operation& operation_;
  Required& required_;
};

Failure missing_key(const Required& required, const model::Operation& operation) {
  const char* key = nullptr;
  if (!required.context) {
    key = "context";
  } else if (!required.kind) {
    key = "kind";
  } else if (!required.times_from) {
    key = "times_from";
  } else if (!required.state) {
    key = "state";
  } else if (operation.func == model::kNoName) {
    key = "func";
  }
  return key == nullptr ? Failure() : failure_of(simdjson::NO_SUCH_FIELD, key);
}

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

}  // namespace

Failure read_operation(EventParser& parser, const Event& event, model::NameTable& names,
                       OperationLine& line) {
  line = {};
  Required required;
  if (auto failure = parser.visit_arguments(event, Reader(names, line, required))) {
    return failure;
  }
  line.is_operation = required.op.has_value();
  if (!line.is_operation) {
    return std::nullopt;
  }
  model::Operation& operation = line.operation;
  if (auto failure = missing_key(required, operation)) {
    return failure;
  }
  operation.id = *required.op;
  operation.context = *required.context;
  operation.kind = *required.kind;
  operation.times_from = *required.times_from;
  operation.state = *required.state;
  return impossible_times(operation);
}

}  // namespace ringside::load
