// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/trace/row_lines.h"

#include <charconv>
#include <string_view>
#include <system_error>

#include "analyzer/load/json/canonical_value.h"
#include "analyzer/load/json/json_value.h"
#include "ringside/trace_schema.h"

namespace ringside::load {
namespace {

// True if the name of a row is this word, or ends in it: "send", "rank 2 recv steps".
bool ends_in_word(std::string_view text, std::string_view word) {
  if (!text.ends_with(word)) {
    return false;
  }
  text.remove_suffix(word.size());
  return text.empty() || text.ends_with(' ');
}

// "rank 2 send channel 0", "recv steps channel 3": which end, and which channel.
Failure read_name(std::string_view name, bool is_step, bool& is_send, std::uint16_t& channel) {
  constexpr std::string_view kChannel = " channel ";
  const std::size_t at = name.rfind(kChannel);
  if (at == std::string_view::npos) {
    return "the row's name does not end in its channel";
  }
  const std::string_view number = name.substr(at + kChannel.size());
  const char* const end = number.data() + number.size();
  const auto [stopped, error] = std::from_chars(number.data(), end, channel);
  if (error != std::errc() || stopped != end) {
    return "the row's name does not end in its channel";
  }
  const std::string_view row = name.substr(0, at);
  is_send = ends_in_word(row, is_step ? "send steps" : "send");
  if (!is_send && !ends_in_word(row, is_step ? "recv steps" : "recv")) {
    return "the row's name says neither send nor recv";
  }
  return std::nullopt;
}

}  // namespace

const std::array<std::string_view, RowReader::kKeys> RowReader::kKeyNames = {
    "context",      "op",          "peer",     "steps",     "bytes", "gpu_wait_ns",
    "peer_wait_ns", "transfer_ns", "flush_ns", "in_flight", "step",  "foreign_pid"};

RowReader::RowReader(Part& part) : part_(part), keys_(kKeyNames) {}

void RowReader::begin() {
  keys_.restart();
  row_ = {};
  context_.reset();
  steps_ = 0;
  foreign_pid_ = 0;
}

template <typename Value>
simdjson::error_code RowReader::take(std::size_t key, Value& value) {
  // As in kKeyNames.
  switch (key) {
    case 0:
      return take_integer(value, context_);
    case 1:
      return take_integer(value, row_.operation);
    case 2:
      return take_integer(value, row_.peer);
    case 3:
      return take_integer(value, steps_);
    case 4:
      return take_integer(value, row_.bytes);
    case 5:
      return take_integer(value, row_.gpu_wait_ns);
    case 6:
      return take_integer(value, row_.peer_wait_ns);
    case 7:
      return take_integer(value, row_.transfer_ns);
    case 8:
      return take_integer(value, row_.flush_ns);
    case 9:
      return take_bool(value, row_.in_flight);
    case 11:
      return take_integer(value, foreign_pid_);
    default:
      return simdjson::SUCCESS;
  }
}

template simdjson::error_code RowReader::take(std::size_t key, simdjson::ondemand::value& value);
template simdjson::error_code RowReader::take(std::size_t key, CanonicalValue& value);

Failure RowReader::finish(const Event& event) {
  // Whatever comes of it, the "e" that follows is not of a row before.
  lose();
  model::Step& row = row_;
  if (!event.ts_ns) {
    return failure_of(simdjson::NO_SUCH_FIELD, "ts");
  }
  const bool is_step = event.category == schema::kCategoryStep;
  if (!context_) {
    return failure_of(simdjson::NO_SUCH_FIELD, "context");
  }
  if (!is_step && !row.peer) {
    return failure_of(simdjson::NO_SUCH_FIELD, "peer");
  }
  if (auto failure = read_name(event.name, is_step, row.is_send, row.channel)) {
    return failure;
  }
  row.context = *context_;
  row.start_ns = *event.ts_ns;
  if (is_step) {
    part_.file.steps.push_back(row);
    part_.open_row = OpenRow::kStep;
    return std::nullopt;
  }
  model::ProxyOperation operation;
  operation.steps = steps_;
  operation.foreign_pid = foreign_pid_;
  operation.operation = row.operation;
  operation.context = row.context;
  operation.peer = *row.peer;
  operation.channel = row.channel;
  operation.is_send = row.is_send;
  operation.in_flight = row.in_flight;
  operation.start_ns = row.start_ns;
  operation.bytes = row.bytes;
  part_.file.proxies.push_back(operation);
  part_.open_row = OpenRow::kProxy;
  return std::nullopt;
}

void RowReader::end(const Event& event) {
  if (!part_.has_rows) {
    part_.ends_row_before = true;
    part_.row_before_end_ns = event.ts_ns;
  }
  part_.has_rows = true;
  if (part_.open_row == OpenRow::kStep) {
    part_.file.steps.back().end_ns = event.ts_ns;
  } else if (part_.open_row == OpenRow::kProxy) {
    part_.file.proxies.back().end_ns = event.ts_ns;
  }
  part_.open_row = OpenRow::kNone;
}

void RowReader::lose() {
  part_.has_rows = true;
  part_.open_row = OpenRow::kNone;
}

}  // namespace ringside::load
