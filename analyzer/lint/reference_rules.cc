// SPDX-License-Identifier: Apache-2.0
#include "analyzer/lint/reference_rules.h"

#include <string>

#include "ringside/trace_schema.h"

namespace ringside::lint {

void ReferenceRules::define(Lines& lines, std::int64_t id, std::uint64_t line, Rule rule,
                            Findings& findings) {
  const auto [entry, is_new] = lines.emplace(id, line);
  if (!is_new) {
    findings.add(line, rule,
                 std::to_string(id) + " was in line " + std::to_string(entry->second) + " already");
  }
}

void ReferenceRules::take(const Event& event, Findings& findings) {
  if (!event.arguments || event.phase == "e") {
    return;
  }
  const simdjson::dom::object& arguments = *event.arguments;
  const auto context = integer_at(arguments, "context");
  if (event.phase == "M") {
    if (event.name == schema::kLineCommunicator && context) {
      contexts_.emplace(*context, event.line);
    } else if (event.name == schema::kLineEnd) {
      if (const auto count = integer_at(arguments, "operations"); count && !is_of_part(arguments)) {
        end_ = {*count, event.line};
      }
    } else if (context && *context != 0) {
      to_contexts_.emplace_back(*context, event.line);
    }
    return;
  }
  if (context && *context != 0) {  // 0: NCCL gave none
    to_contexts_.emplace_back(*context, event.line);
  }
  const auto operation = integer_at(arguments, "op");
  if (is_operation(event)) {
    ++operation_lines_;
    if (operation) {
      define(operations_, *operation, event.line, Rule::kOperationId, findings);
    }
  } else if (operation) {
    to_operations_.emplace_back(*operation, event.line);
  }
  if (event.category == schema::kCategoryApi) {
    if (const auto call = integer_at(arguments, "id")) {
      define(calls_, *call, event.line, Rule::kCallId, findings);
    }
  }
}

void ReferenceRules::resolve(const References& references, const Lines& lines, const char* what,
                             Findings& findings) {
  for (const auto& [id, line] : references) {
    if (!lines.contains(id)) {
      findings.add(line, Rule::kReference,
                   "the file has no " + std::string(what) + ' ' + std::to_string(id));
    }
  }
}

void ReferenceRules::finish(bool is_closed, bool is_counted, Findings& findings) {
  resolve(to_contexts_, contexts_, "ringside_communicator of context", findings);
  if (is_closed) {
    resolve(to_operations_, operations_, "operation", findings);
  }
  if (is_counted && end_ && end_->first != operation_lines_) {
    findings.add(end_->second, Rule::kOperationCount,
                 "operations is " + std::to_string(end_->first) + ", but the file has " +
                     std::to_string(operation_lines_));
  }
}

}  // namespace ringside::lint
