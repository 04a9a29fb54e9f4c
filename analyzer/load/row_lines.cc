// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/row_lines.h"

#include <charconv>
#include <string_view>
#include <system_error>

#include "analyzer/load/json_value.h"
#include "ringside/trace_schema.h"

namespace ringside::load {
namespace {

using Value = simdjson::ondemand::value;

// What a row is named for, without what may stand before it: "send", "rank 2 recv steps".
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

Failure RowReader::begin(EventParser& parser, const Event& event) {
  part_.has_rows = true;
  part_.open_row = OpenRow::kNone;
  if (!event.ts_ns) {
    return failure_of(simdjson::NO_SUCH_FIELD, "ts");
  }
  const bool is_step = event.category == schema::kCategoryStep;
  model::Step row;
  model::ProxyOperation operation;
  std::optional<std::uint32_t> context;
  auto failure = parser.visit_arguments(event, [&](std::string_view key, Value& value) {
    if (key == "op") return take_integer(value, row.operation);
    if (key == "context") return take_integer(value, context);
    if (key == "peer") return take_integer(value, row.peer);
    if (key == "bytes") return take_integer(value, row.bytes);
    if (key == "steps") return take_integer(value, operation.steps);
    if (key == "gpu_wait_ns") return take_integer(value, row.gpu_wait_ns);
    if (key == "peer_wait_ns") return take_integer(value, row.peer_wait_ns);
    if (key == "transfer_ns") return take_integer(value, row.transfer_ns);
    if (key == "flush_ns") return take_integer(value, row.flush_ns);
    if (key == "in_flight") return value.get_bool().get(row.in_flight);
    return simdjson::SUCCESS;
  });
  if (!failure && !context) {
    failure = failure_of(simdjson::NO_SUCH_FIELD, "context");
  }
  if (!failure && !is_step && !row.peer) {
    failure = failure_of(simdjson::NO_SUCH_FIELD, "peer");
  }
  if (!failure) {
    failure = read_name(event.name, is_step, row.is_send, row.channel);
  }
  if (failure) {
    return failure;
  }
  row.context = *context;
  row.start_ns = *event.ts_ns;
  if (is_step) {
    part_.file.steps.push_back(row);
    part_.open_row = OpenRow::kStep;
    return std::nullopt;
  }
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
