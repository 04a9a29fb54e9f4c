// SPDX-License-Identifier: Apache-2.0
#include "analyzer/merge/slice_names.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "analyzer/report/document/numbers.h"
#include "plugin/assemble/operation_name.h"
#include "ringside/trace_schema.h"

namespace ringside::merge {

std::string SliceNames::row_of(const EventLine& line) {
  // These have no row in a trace: they are async because they do not nest on their threads.
  if (line.category == schema::kCategoryApi) {
    return "calls that overlap";
  }
  if (line.category == schema::kCategoryMark) {
    return "ranges that overlap";
  }
  // A transfer has the name "recv channel 0", or "rank 2 recv channel 0" in a process of several
  // ranks.
  std::string row(line.name);
  const bool is_transfer =
      line.category == schema::kCategoryProxy || line.category == schema::kCategoryStep;
  const auto peer = is_transfer ? line.arguments().peer : std::nullopt;
  for (const auto& [verb, preposition] :
       {std::pair("send ", "to rank "), std::pair("recv ", "from rank ")}) {
    const std::size_t found = peer ? row.find(verb) : std::string::npos;
    if (found != std::string::npos) {
      return row.replace(found, std::strlen(verb), preposition + std::to_string(*peer) + ", ");
    }
  }
  return row;
}

std::optional<std::size_t> SliceNames::find(const EventLine& line) {
  if (operations_.empty()) {
    for (std::size_t i = 0; i < file_.operations.size(); ++i) {
      operations_.emplace_back(file_.operations.id(i), i);
    }
    std::sort(operations_.begin(), operations_.end());
  }
  const auto found = std::lower_bound(operations_.begin(), operations_.end(),
                                      std::pair(line.arguments().op.value_or(0), std::size_t{0}));
  const bool is_there =
      found != operations_.end() && found->first == line.arguments().op.value_or(0);
  return is_there ? std::optional(found->second) : std::nullopt;
}

// Few sizes occur, in very many slices.
void SliceNames::append_size(std::optional<std::int64_t> bytes) {
  if (!bytes || *bytes < 0) {
    return;
  }
  std::string& text = sizes_[*bytes];
  if (text.empty()) {
    text = ' ' + report::human_bytes(static_cast<std::uint64_t>(*bytes));
  }
  name_ += text;
}

void SliceNames::append_number(std::string_view before, std::optional<std::int64_t> number) {
  if (number) {
    name_.append(before) += std::to_string(*number);
  }
}

void SliceNames::append_kernel(const EventLine& line) {
  const auto found = find(line);
  if (!found) {
    name_ = line.name;
    return;
  }
  const model::CallIdentity call = file_.operations.call(*found);
  const std::string_view function = traces_.names.text(call.func);
  name_ = call.seq ? assemble::numbered(function, static_cast<std::uint64_t>(*call.seq))
                   : std::string(function);
}

std::string SliceNames::caller_of(const EventLine& line) {
  const bool is_operation = line.category == schema::kCategoryOperation && line.arguments().op;
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

std::optional<std::uint32_t> SliceNames::context_of(const EventLine& line) {
  const auto found = find(line);
  return found ? std::optional(file_.operations.context(*found)) : std::nullopt;
}

std::string_view SliceNames::name_of(const EventLine& line) {
  const auto is_send = [&] {
    return line.name.find("send ") != std::string_view::npos || line.name == "Send";
  };
  const bool is_step = line.category == schema::kCategoryStep;
  name_.clear();
  if (line.category == schema::kCategoryOperation) {
    const auto peer = line.arguments().peer;
    name_ = line.name;
    append_size(line.arguments().bytes);
    if (peer) {
      append_number(is_send() ? " to " : " from ", peer);
    } else {
      append_number(" #", line.arguments().seq);
    }
  } else if (line.category == schema::kCategoryProxy || is_step) {
    name_ = is_send() ? "send" : "receive";
    append_size(line.arguments().bytes);
    append_number(is_send() ? " to " : " from ", line.arguments().peer);
    append_number(", step ", is_step ? line.arguments().step : std::nullopt);
  } else if (line.category == schema::kCategoryGpu) {
    append_kernel(line);
  } else if (line.category == schema::kCategoryPhase) {
    name_ = "phase";
    append_number(" #", line.arguments().phase);
  } else if (line.category == schema::kCategoryControl) {
    name_ = line.arguments().state;
  } else if (line.category == schema::kCategoryNet) {
    name_ = line.arguments().kind;
    append_size(line.arguments().bytes);
  } else if (line.category == schema::kCategoryCopyEngine) {
    name_ = line.arguments().type;
    append_size(line.arguments().bytes);
  }
  return name_.empty() ? line.name : std::string_view(name_);
}

}  // namespace ringside::merge
