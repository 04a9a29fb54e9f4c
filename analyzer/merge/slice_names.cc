// SPDX-License-Identifier: Apache-2.0
#include "analyzer/merge/slice_names.h"

#include <algorithm>

#include "analyzer/load/dom_value.h"
#include "analyzer/report/numbers.h"
#include "ringside/trace_schema.h"

namespace ringside::merge {
namespace {

using Number = std::optional<std::int64_t>;

std::string size_text(Number bytes) {
  return bytes && *bytes >= 0 ? ' ' + report::human_bytes(static_cast<std::uint64_t>(*bytes)) : "";
}

std::string peer_text(bool is_send, Number peer) {
  return peer ? (is_send ? " to " : " from ") + std::to_string(*peer) : "";
}

std::string number_text(Number number) {
  return number ? " #" + std::to_string(*number) : "";
}

}  // namespace

std::string_view SliceNames::row_of(const EventLine& line) {
  // These have no row in a trace: they are async because they do not nest on their threads.
  return line.category == schema::kCategoryApi    ? "calls that overlap"
         : line.category == schema::kCategoryMark ? "ranges that overlap"
                                                  : line.name;
}

std::optional<std::size_t> SliceNames::find(const EventLine& line) {
  if (operations_.empty()) {
    for (std::size_t i = 0; i < file_.operations.size(); ++i) {
      operations_.emplace_back(file_.operations.id(i), i);
    }
    std::sort(operations_.begin(), operations_.end());
  }
  const auto found = std::lower_bound(operations_.begin(), operations_.end(),
                                      std::pair(line.operation.value_or(0), std::size_t{0}));
  const bool is_there = found != operations_.end() && found->first == line.operation.value_or(0);
  return is_there ? std::optional(found->second) : std::nullopt;
}

std::string SliceNames::kernel_name(const EventLine& line) {
  const auto found = find(line);
  if (!found) {
    return std::string(line.name);
  }
  const model::CallIdentity call = file_.operations.call(*found);
  return std::string(traces_.names.text(call.func)) + number_text(call.seq);
}

std::string SliceNames::caller_of(const EventLine& line) {
  const bool is_operation = line.category == schema::kCategoryOperation && line.operation;
  const auto found = has_callers_ && is_operation ? find(line) : std::nullopt;
  std::string members;
  if (!found) {
    return members;
  }
  const model::Operation operation = file_.operations[*found];
  const auto append = [&](const char* key, model::NameId name) {
    if (name != model::kNoName) {
      append_quoted(traces_.names.text(name), members.append(key));
    }
  };
  append(",\"called_by\":", operation.called_by);
  append(",\"process_group\":", operation.process_group);
  if (operation.torch_seq) {
    members += ",\"torch_seq\":" + std::to_string(*operation.torch_seq);
  }
  return members;
}

std::string SliceNames::name_of(const EventLine& line) {
  const auto number = [&](std::string_view key) {
    return line.arguments ? load::integer_at(*line.arguments, key) : std::nullopt;
  };
  const auto text = [&](std::string_view key) {
    return std::string(line.arguments ? load::text_at(*line.arguments, key) : "");
  };
  const bool is_send = line.name.find("send ") != std::string_view::npos || line.name == "Send";
  const std::string direction = is_send ? "send" : "receive";
  if (line.category == schema::kCategoryOperation) {
    const Number peer = number("peer");
    return std::string(line.name) + size_text(number("bytes")) + peer_text(is_send, peer) +
           number_text(peer ? std::nullopt : number("seq"));
  }
  if (line.category == schema::kCategoryProxy) {
    return direction + size_text(number("bytes")) + peer_text(is_send, number("peer"));
  }
  if (line.category == schema::kCategoryStep) {
    return direction + size_text(number("bytes")) + peer_text(is_send, number("peer")) +
           (number("step") ? ", step " + std::to_string(*number("step")) : "");
  }
  if (line.category == schema::kCategoryGpu) {
    return kernel_name(line);
  }
  if (line.category == schema::kCategoryPhase) {
    return "phase" + number_text(number("phase"));
  }
  std::string name;
  if (line.category == schema::kCategoryControl) {
    name = text("state");
  } else if (line.category == schema::kCategoryNet) {
    name = text("kind") + size_text(number("bytes"));
  } else if (line.category == schema::kCategoryCopyEngine) {
    name = text("type") + size_text(number("bytes"));
  }
  return name.empty() ? std::string(line.name) : name;
}

}  // namespace ringside::merge
