// SPDX-License-Identifier: Apache-2.0
#include "analyzer/lint/rules.h"

#include <array>

namespace ringside::lint {
namespace {

struct Entry {
  Rule rule;
  std::string_view name;
  std::string_view text;
};

constexpr std::array<Entry, kRuleCount> kRules = {{
    {Rule::kFirstLine, "first-line",
     "the file begins with [{ and a ringside_trace event that has all its keys"},
    {Rule::kOneEventALine, "one-event-a-line", "every line is one JSON object"},
    {Rule::kComma, "comma", "every event but the last ends with a comma"},
    {Rule::kLineTooLong, "line-too-long", "a line has at most 64 KiB"},
    {Rule::kEnd, "end", "a closed file ends with a ringside_end event and a line ]"},
    {Rule::kAfterEnd, "after-end", "nothing follows the ] that closes the file"},
    {Rule::kNotClosed, "not-closed", "the file is closed (with --closed only)"},
    {Rule::kInvalidJson, "invalid-json", "every line is valid JSON"},
    {Rule::kControlCharacter, "control-character", "strings have no raw control characters"},
    {Rule::kUtf8, "utf-8", "all text is valid UTF-8"},
    {Rule::kNotANumber, "not-a-number", "there is no NaN and no Infinity"},
    {Rule::kBigInteger, "big-integer", "integers beyond 2^53 are strings"},
    {Rule::kRequiredKeys, "required-keys", "an event has the keys that its phase demands"},
    {Rule::kPhase, "phase", "ph is M, X, b, e, C or i"},
    {Rule::kCategory, "category", "cat is one that the trace format names"},
    {Rule::kIdRange, "id-range", "pid is an integer from 0 to 2^32 - 1, tid from 1"},
    {Rule::kTimeFormat, "time-format",
     "ts and dur are digits, a point and three digits; ts of metadata is 0"},
    {Rule::kMetadataName, "metadata-name", "the name of a metadata event is known"},
    {Rule::kMetadataKeys, "metadata-keys",
     "a metadata event has the args that the trace format demands"},
    {Rule::kCounterArgs, "counter-args",
     "the args of a counter are one number or more, nothing else"},
    {Rule::kInstantScope, "instant-scope", "the scope s of an instant is g, p or t"},
    {Rule::kSliceCategory, "slice-category", "only the categories api and mark have X slices"},
    {Rule::kSliceOverlap, "slice-overlap",
     "X slices of a thread nest or do not touch the same time"},
    {Rule::kSliceOverlapRounded, "slice-overlap-rounded",
     "they still do as Perfetto rounds their times"},
    {Rule::kAsyncUnbalanced, "async-unbalanced", "every e has its b: same pid, cat, id and name"},
    {Rule::kAsyncOverlap, "async-overlap", "async slices of one id nest"},
    {Rule::kAsyncOrder, "async-order", "an e is not before its b"},
    {Rule::kAsyncUnfinished, "async-unfinished", "in a closed file a b without e says in_flight"},
    {Rule::kFlowUnmatched, "flow-unmatched",
     "in a closed file every bind_id has a flow_out and a flow_in"},
    {Rule::kFlowRepeated, "flow-repeated", "no bind_id has two flow_out or two flow_in"},
    {Rule::kOperationKeys, "operation-keys", "an operation has the keys of its kind"},
    {Rule::kOperationValues, "operation-values",
     "kind, times_from and state are known words, numbers are not negative"},
    {Rule::kOperationTimes, "operation-times",
     "start and end agree with state and times_from, and are in order"},
    {Rule::kOperationBytes, "operation-bytes", "bytes are count times the size of the datatype"},
    {Rule::kOperationId, "operation-id", "op is unique in the file"},
    {Rule::kCallId, "call-id", "the id of an API call is unique in the file"},
    {Rule::kReference, "reference",
     "context, and in a closed file op, refer to something in the file"},
    {Rule::kAccountSum, "account-sum", "for each event type the account adds up to produced"},
    {Rule::kOperationCount, "operation-count", "ringside_end counts the operations of the file"},
    {Rule::kDumpEntry, "dump-entry",
     "each entry of a dump of PyTorch's Flight Recorder says what it must"},
}};

constexpr bool is_in_order() {
  for (std::size_t i = 0; i < kRules.size(); ++i) {
    if (static_cast<std::size_t>(kRules[i].rule) != i) {
      return false;
    }
  }
  return true;
}
static_assert(is_in_order());

}  // namespace

std::string_view rule_name(Rule rule) {
  return kRules[static_cast<std::size_t>(rule)].name;
}

std::string_view rule_text(Rule rule) {
  return kRules[static_cast<std::size_t>(rule)].text;
}

}  // namespace ringside::lint
