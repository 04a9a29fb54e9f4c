// SPDX-License-Identifier: Apache-2.0
//
// Reads the line of an operation.
#ifndef RINGSIDE_ANALYZER_LOAD_TRACE_OPERATION_LINE_H
#define RINGSIDE_ANALYZER_LOAD_TRACE_OPERATION_LINE_H

#include <array>
#include <optional>
#include <simdjson.h>
#include <string_view>

#include "analyzer/load/json/event_parser.h"
#include "analyzer/load/json/key_order.h"
#include "analyzer/model/trace.h"

namespace ringside::load {

/// The keys of an operation's args, in the order in which the plugin writes them.
enum class OperationKey : std::uint8_t {
  kOp,
  kContext,
  kComm,
  kRank,
  kNranks,
  kKind,
  kFunc,
  kSeq,
  kCount,
  kDatatype,
  kBytes,
  kRoot,
  kPeer,
  kAlgo,
  kProto,
  kVariant,
  kChannels,
  kWarps,
  kGpuChannels,
  kGpuRejected,
  kGroup,
  kStream,
  kUserTag,
  kGraph,
  kSymmetric,
  kGpuPolled,
  kStartIsLatest,
  kInFlight,
  kSampledOut,
  kSampleOf,
  kWindow,
  kTid,
  kEnqueueStart,
  kEnqueueEnd,
  kStart,
  kEnd,
  kTimesFrom,
  kState,
  kNone,
};
inline constexpr std::size_t kOperationKeys = static_cast<std::size_t>(OperationKey::kNone);

/// The content of one line: the operation, and the facts of its communicator that it repeats.
struct OperationLine {
  bool is_operation = false;  // false: a slice around an operation, without args.op
  model::Operation operation;
  std::optional<std::string_view> comm;  // valid until the next line is parsed
  std::optional<std::uint32_t> rank;
  std::optional<std::uint32_t> nranks;
};

/// Why an operation cannot have these times; nothing if it can.
Failure impossible_times(const model::Operation& operation);

/// Takes the args of an event with "ph":"b", "cat":"op".
class OperationReader {
 public:
  explicit OperationReader(model::NameTable& names);

  /// Before the first member.
  void begin();
  /// For each member.
  simdjson::error_code operator()(std::string_view key, simdjson::ondemand::value& value) {
    return take(keys_.find(key), value);
  }
  /// The same in two steps: which key begins at `at`, and its value, which is a
  /// simdjson::ondemand::value or a CanonicalValue.
  KeyPlace find_key(const char* at) { return keys_.find_at(at); }
  template <typename Value>
  simdjson::error_code take(std::size_t key, Value& value);
  /// After the last. Fails where a key that every operation has is absent, or values cannot be what
  /// the format says.
  Failure finish();

  const OperationLine& line() const { return line_; }

 private:
  // Keys that every operation has; the others may be absent.
  struct Required {
    std::optional<std::uint64_t> op;
    std::optional<std::uint32_t> context;
    std::optional<model::Kind> kind;
    std::optional<model::TimesFrom> times_from;
    std::optional<model::State> state;
  };

  template <typename Value>
  simdjson::error_code take_name(OperationKey key, Value& value, model::NameId& result);
  Failure missing_key() const;

  model::NameTable& names_;
  KeyOrder<kOperationKeys> keys_;
  std::array<model::NameId, kOperationKeys> last_names_ = {};  // that each key had
  OperationLine line_;
  Required required_;
};

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_TRACE_OPERATION_LINE_H
