// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/kineto/execution_trace.h"

#include <simdjson.h>
#include <string_view>

#include "analyzer/load/json/dom_value.h"
#include "analyzer/load/kineto/kineto_items.h"

namespace ringside::load {
namespace {

using simdjson::dom::object;

constexpr const char* kNodes = "nodes";

std::string json_at(const object& members, std::string_view key) {
  simdjson::dom::element value;
  return members[key].get(value) == simdjson::SUCCESS ? simdjson::minify(value) : std::string();
}

model::ExecutionNode::Tensors tensors_at(const object& node, std::string_view key) {
  object tensors;
  if (node[key].get_object().get(tensors) != simdjson::SUCCESS) {
    return {};
  }
  return {json_at(tensors, "values"), json_at(tensors, "shapes"), json_at(tensors, "types")};
}

void add_node(const object& node, model::ExecutionTrace& trace) {
  model::ExecutionNode made;
  std::optional<std::int64_t> record_function;
  simdjson::dom::array attributes;
  if (node["attrs"].get_array().get(attributes) == simdjson::SUCCESS) {
    for (const simdjson::dom::element element : attributes) {
      object attribute;
      if (element.get_object().get(attribute) != simdjson::SUCCESS) {
        continue;
      }
      const std::string_view name = text_at(attribute, "name");
      const auto number = integer_at(attribute, "value");
      std::string_view text;
      if (name == "rf_id") {
        record_function = number;
      } else if (number) {
        made.attributes.emplace_back(name, *number);
      } else if (attribute["value"].get_string().get(text) == simdjson::SUCCESS) {
        made.attributes.emplace_back(name, std::string(text));
      } else if (!name.empty()) {
        made.attributes.emplace_back(name, json_at(attribute, "value"));
      }
    }
  }
  made.id = integer_at(node, "id").value_or(0);
  made.name = text_at(node, "name");
  made.inputs = tensors_at(node, "inputs");
  made.outputs = tensors_at(node, "outputs");
  if (record_function) {  // the first of that number stays
    trace.nodes.try_emplace(*record_function, std::move(made));
  }
}

// The number that is the whole text.
std::optional<std::int64_t> number_in(simdjson::dom::parser& parser, std::string_view text) {
  std::int64_t number = 0;
  return parser.parse(text.data(), text.size(), false).get_int64().get(number) == simdjson::SUCCESS
             ? std::optional(number)
             : std::nullopt;
}

}  // namespace

std::optional<std::string> read_execution_trace(const std::string& path,
                                                model::ExecutionTrace& trace) {
  KinetoItems items(kNodes);
  if (auto error = items.open(path)) {
    return "cannot be read: " + *error;
  }
  simdjson::dom::parser parser;
  for (KinetoItem item; items.next(item);) {
    object node;
    if (!item.is_event) {
      if (item.key == "pid") {
        trace.pid = number_in(parser, item.text);
      } else if (item.key == "schema" && item.text.size() >= 2) {
        trace.schema = item.text.substr(1, item.text.size() - 2);
      }
    } else if (!item.is_too_long &&
               parser.parse(item.text.data(), item.text.size(), false).get_object().get(node) ==
                   simdjson::SUCCESS) {
      add_node(node, trace);
    } else {
      ++trace.damaged;
    }
  }
  if (items.error()) {
    return items.error();
  }
  if (!items.has_events()) {
    return "no execution trace of PyTorch: it has no \"nodes\"";
  }
  return std::nullopt;
}

std::optional<std::string> read_pid_of_execution_trace(const std::string& path, std::int64_t& pid) {
  KinetoItems items(kNodes);
  simdjson::dom::parser parser;
  if (auto error = items.open(path)) {
    return "cannot be read: " + *error;
  }
  for (KinetoItem item; items.next(item) && !item.is_event;) {
    const auto number = item.key == "pid" ? number_in(parser, item.text) : std::nullopt;
    if (number) {
      pid = *number;
      return std::nullopt;
    }
  }
  return items.error() ? *items.error()
                       : std::string("no execution trace of PyTorch: no \"pid\" before \"nodes\"");
}

}  // namespace ringside::load
