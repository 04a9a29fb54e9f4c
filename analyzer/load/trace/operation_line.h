// SPDX-License-Identifier: Apache-2.0
//
// Reads the line of an operation.
#ifndef RINGSIDE_ANALYZER_LOAD_TRACE_OPERATION_LINE_H
#define RINGSIDE_ANALYZER_LOAD_TRACE_OPERATION_LINE_H

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "analyzer/load/json/event_parser.h"
#include "analyzer/load/json/field_reader.h"
#include "analyzer/model/trace.h"

namespace ringside::load {

template <>
inline constexpr std::array<std::pair<std::string_view, model::Kind>, 4> kWordsOf<model::Kind> = {{
    {"coll", model::Kind::kCollective},
    {"p2p", model::Kind::kPointToPoint},
    {"ce", model::Kind::kCopyEngine},
    {"api", model::Kind::kApi},
}};
template <>
inline constexpr std::array<std::pair<std::string_view, model::TimesFrom>, 4>
    kWordsOf<model::TimesFrom> = {{
        {"gpu", model::TimesFrom::kGpu},
        {"proxy", model::TimesFrom::kProxy},
        {"proxy_queue", model::TimesFrom::kProxyQueue},
        {"enqueue", model::TimesFrom::kEnqueue},
    }};
template <>
inline constexpr std::array<std::pair<std::string_view, model::State>, 3> kWordsOf<model::State> = {
    {
        {"completed", model::State::kCompleted},
        {"started", model::State::kStarted},
        {"enqueued", model::State::kEnqueued},
    }};

/// The content of one line: the operation, and the facts of its communicator that it repeats.
struct OperationLine : model::Operation {
  std::optional<std::string_view> comm;  // valid until the next line is parsed
  std::optional<std::uint32_t> rank;
  std::optional<std::uint32_t> nranks;
};

/// The args of an operation, in the order in which the plugin writes them.
inline constexpr std::tuple kOperationFields{
    Field{"op", &OperationLine::id},
    Field{"context", &OperationLine::context, Need::kRequired},
    Field{"comm", &OperationLine::comm},
    Field{"rank", &OperationLine::rank},
    Field{"nranks", &OperationLine::nranks},
    Field{"kind", &OperationLine::kind, Need::kRequired},
    NameField{"func", &OperationLine::func},
    Field{"seq", &OperationLine::seq},
    Field{"count", &OperationLine::count},
    NameField{"datatype", &OperationLine::datatype},
    Field{"bytes", &OperationLine::bytes},
    Field{"root", &OperationLine::root},
    Field{"peer", &OperationLine::peer},
    NameField{"algo", &OperationLine::algo},
    NameField{"proto", &OperationLine::proto},
    UnreadField{"variant"},
    Field{"channels", &OperationLine::channels},
    UnreadField{"warps"},
    UnreadField{"gpu_channels"},
    Field{"gpu_rejected", &OperationLine::gpu_rejected},
    Field{"group", &OperationLine::group},
    NameField{"stream", &OperationLine::stream},
    NameField{"user_tag", &OperationLine::user_tag},
    Field{"graph", &OperationLine::graph},
    UnreadField{"symmetric"},
    Field{"gpu_polled", &OperationLine::gpu_polled},
    Field{"start_is_latest", &OperationLine::start_is_latest},
    Field{"in_flight", &OperationLine::in_flight},
    Field{"sampled_out", &OperationLine::sampled_out},
    Field{"sample_of", &OperationLine::sample_of},
    Field{"window", &OperationLine::window},
    Field{"tid", &OperationLine::tid},
    Field{"enqueue_start_ns", &OperationLine::enqueue_start_ns},
    Field{"enqueue_end_ns", &OperationLine::enqueue_end_ns},
    Field{"start_ns", &OperationLine::start_ns},
    Field{"end_ns", &OperationLine::end_ns},
    Field{"times_from", &OperationLine::times_from, Need::kRequired},
    Field{"state", &OperationLine::state, Need::kRequired}};

/// Why an operation cannot have these times; nothing if it can.
Failure impossible_times(const model::Operation& operation);

/// Takes the args of an event with "ph":"b", "cat":"op".
class OperationReader : public FieldReader<OperationLine, kOperationFields> {
 public:
  using FieldReader::FieldReader;

  /// After the last. Fails where a key that every operation has is absent, or values cannot be what
  /// the format says.
  Failure finish() const;

  /// False: the line was a slice around an operation, without args.op.
  bool is_operation() const { return has("op"); }
  const OperationLine& line() const { return row(); }
};

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_TRACE_OPERATION_LINE_H
