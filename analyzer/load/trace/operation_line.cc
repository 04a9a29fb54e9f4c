// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/trace/operation_line.h"

#include <array>
#include <string_view>
#include <utility>

#include "analyzer/load/json/canonical_value.h"
#include "analyzer/load/json/json_value.h"

namespace ringside::load {
namespace {

using simdjson::error_code;

// In the order of OperationKey.
constexpr std::array<std::string_view, kOperationKeys> kKeys = {"op",
                                                                "context",
                                                                "comm",
                                                                "rank",
                                                                "nranks",
                                                                "kind",
                                                                "func",
                                                                "seq",
                                                                "count",
                                                                "datatype",
                                                                "bytes",
                                                                "root",
                                                                "peer",
                                                                "algo",
                                                                "proto",
                                                                "variant",
                                                                "channels",
                                                                "warps",
                                                                "gpu_channels",
                                                                "gpu_rejected",
                                                                "group",
                                                                "stream",
                                                                "user_tag",
                                                                "graph",
                                                                "symmetric",
                                                                "gpu_polled",
                                                                "start_is_latest",
                                                                "in_flight",
                                                                "sampled_out",
                                                                "sample_of",
                                                                "window",
                                                                "tid",
                                                                "enqueue_start_ns",
                                                                "enqueue_end_ns",
                                                                "start_ns",
                                                                "end_ns",
                                                                "times_from",
                                                                "state"};
static_assert(kKeys[static_cast<std::size_t>(OperationKey::kPeer)] == "peer" &&
              kKeys[static_cast<std::size_t>(OperationKey::kWindow)] == "window" &&
              kKeys.back() == "state");

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

template <typename Value, typename Word, std::size_t kSize>
error_code take_word(Value& value,
                     const std::array<std::pair<std::string_view, Word>, kSize>& words,
                     std::optional<Word>& result) {
  std::string_view text;
  if (const auto error = take_view(value, text)) {
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

}  // namespace

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

OperationReader::OperationReader(model::NameTable& names) : names_(names), keys_(kKeys) {}

void OperationReader::begin() {
  keys_.restart();
  line_ = {};
  required_ = {};
}

// Most often it is the name that the same key had on the line before.
template <typename Value>
error_code OperationReader::take_name(OperationKey key, Value& value, model::NameId& result) {
  std::string_view text;
  if (const auto error = take_view(value, text)) {
    return error;
  }
  model::NameId& last = last_names_[static_cast<std::size_t>(key)];
  if (names_.text(last) != text) {
    last = names_.id(text);
  }
  result = last;
  return simdjson::SUCCESS;
}

template <typename Value>
error_code OperationReader::take(std::size_t index, Value& value) {
  model::Operation& operation = line_.operation;
  const auto key = static_cast<OperationKey>(index);
  switch (key) {
    case OperationKey::kOp:
      return take_integer(value, required_.op);
    case OperationKey::kContext:
      return take_integer(value, required_.context);
    case OperationKey::kKind:
      return take_word(value, kKinds, required_.kind);
    case OperationKey::kTimesFrom:
      return take_word(value, kSources, required_.times_from);
    case OperationKey::kState:
      return take_word(value, kStates, required_.state);
    case OperationKey::kFunc:
      return take_name(key, value, operation.func);
    case OperationKey::kDatatype:
      return take_name(key, value, operation.datatype);
    case OperationKey::kAlgo:
      return take_name(key, value, operation.algo);
    case OperationKey::kProto:
      return take_name(key, value, operation.proto);
    case OperationKey::kStream:
      return take_name(key, value, operation.stream);
    case OperationKey::kUserTag:
      return take_name(key, value, operation.user_tag);
    case OperationKey::kSeq:
      return take_integer(value, operation.seq);
    case OperationKey::kCount:
      return take_integer(value, operation.count);
    case OperationKey::kBytes:
      return take_integer(value, operation.bytes);
    case OperationKey::kRoot:
      return take_integer(value, operation.root);
    case OperationKey::kPeer:
      return take_integer(value, operation.peer);
    case OperationKey::kGroup:
      return take_integer(value, operation.group);
    case OperationKey::kWindow:
      return take_integer(value, operation.window);
    case OperationKey::kSampleOf:
      return take_integer(value, operation.sample_of);
    case OperationKey::kSampledOut:
      return take_bool(value, operation.sampled_out);
    case OperationKey::kTid:
      return take_integer(value, operation.tid);
    case OperationKey::kChannels:
      return take_integer(value, operation.channels);
    case OperationKey::kGpuRejected:
      return take_integer(value, operation.gpu_rejected);
    case OperationKey::kGpuPolled:
      return take_bool(value, operation.gpu_polled);
    case OperationKey::kStartIsLatest:
      return take_bool(value, operation.start_is_latest);
    case OperationKey::kGraph:
      return take_bool(value, operation.graph);
    case OperationKey::kInFlight:
      return take_bool(value, operation.in_flight);
    case OperationKey::kEnqueueStart:
      return take_integer(value, operation.enqueue_start_ns);
    case OperationKey::kEnqueueEnd:
      return take_integer(value, operation.enqueue_end_ns);
    case OperationKey::kStart:
      return take_integer(value, operation.start_ns);
    case OperationKey::kEnd:
      return take_integer(value, operation.end_ns);
    case OperationKey::kComm:
      return take_view(value, line_.comm.emplace());
    case OperationKey::kRank:
      return take_integer(value, line_.rank);
    case OperationKey::kNranks:
      return take_integer(value, line_.nranks);
    case OperationKey::kVariant:
    case OperationKey::kWarps:
    case OperationKey::kGpuChannels:
    case OperationKey::kSymmetric:
    case OperationKey::kNone:
      break;
  }
  return simdjson::SUCCESS;
}

template error_code OperationReader::take(std::size_t key, simdjson::ondemand::value& value);
template error_code OperationReader::take(std::size_t key, CanonicalValue& value);

Failure OperationReader::missing_key() const {
  const char* key = nullptr;
  if (!required_.context) {
    key = "context";
  } else if (!required_.kind) {
    key = "kind";
  } else if (!required_.times_from) {
    key = "times_from";
  } else if (!required_.state) {
    key = "state";
  } else if (line_.operation.func == model::kNoName) {
    key = "func";
  }
  return key == nullptr ? Failure() : failure_of(simdjson::NO_SUCH_FIELD, key);
}

Failure OperationReader::finish() {
  line_.is_operation = required_.op.has_value();
  if (!line_.is_operation) {
    return std::nullopt;
  }
  if (auto failure = missing_key()) {
    return failure;
  }
  model::Operation& operation = line_.operation;
  operation.id = *required_.op;
  operation.context = *required_.context;
  operation.kind = *required_.kind;
  operation.times_from = *required_.times_from;
  operation.state = *required_.state;
  return impossible_times(operation);
}

}  // namespace ringside::load
