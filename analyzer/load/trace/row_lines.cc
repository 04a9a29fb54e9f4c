// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/trace/row_lines.h"

#include <string_view>

#include "analyzer/load/json/parse_number.h"
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
  const auto number = at == std::string_view::npos
                          ? std::nullopt
                          : parse_number<std::uint16_t>(name.substr(at + kChannel.size()));
  if (!number) {
    return "the row's name does not end in its channel";
  }
  channel = *number;
  const std::string_view row = name.substr(0, at);
  is_send = ends_in_word(row, is_step ? "send steps" : "send");
  if (!is_send && !ends_in_word(row, is_step ? "recv steps" : "recv")) {
    return "the row's name says neither send nor recv";
  }
  return std::nullopt;
}

}  // namespace

Failure RowReader::finish(const Event& event) {
  // Whatever comes of it, the "e" that follows is not of a row before.
  lose();
  RowLine row = this->row();
  if (!event.ts_ns) {
    return failure_of(simdjson::NO_SUCH_FIELD, "ts");
  }
  const bool is_step = event.category == schema::kCategoryStep;
  if (const std::string_view key = missing(); !key.empty()) {
    return failure_of(simdjson::NO_SUCH_FIELD, key);
  }
  if (!is_step && !row.peer) {
    return failure_of(simdjson::NO_SUCH_FIELD, "peer");
  }
  if (auto failure = read_name(event.name, is_step, row.is_send, row.channel)) {
    return failure;
  }
  row.start_ns = *event.ts_ns;
  if (is_step) {
    part_.file.steps.push_back(row);
    part_.open_row = OpenRow::kStep;
    return std::nullopt;
  }
  model::ProxyOperation operation;
  operation.steps = row.steps;
  operation.foreign_pid = row.foreign_pid;
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
