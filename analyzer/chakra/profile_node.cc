// SPDX-License-Identifier: Apache-2.0
#include "analyzer/chakra/profile_node.h"

#include <algorithm>
#include <string_view>
#include <variant>

#include "analyzer/model/kineto/nccl_kernel.h"
#include "analyzer/model/saturating.h"

namespace ringside::chakra {
namespace {

constexpr std::string_view kWork[] = {"kernel", "copy", "set"};

void add_id(Node& node, const char* name, std::int64_t id) {
  if (id != model::kNoId) {
    node.add_number(name, id);
  }
}

void add_stream(const model::GpuActivity& activity, Node& node) {
  node.add_number("stream", activity.stream);
  node.add_number("device", activity.device);
  add_id(node, "external_id", activity.external_id);
  add_id(node, "correlation", activity.correlation);
}

}  // namespace

Node call_node(const model::KinetoTrace& trace, std::uint32_t index) {
  const model::KinetoCall& call = trace.operators[index];
  Node node;
  node.name = trace.names.text(call.name);
  node.add("is_cpu_op", true);
  node.add_number("thread", call.thread);
  add_id(node, "external_id", call.external_id);
  add_id(node, "rf_id", call.record_function_id);
  node.add_number("wall_ns", subtract_saturating(call.end_ns, call.start_ns));
  return node;
}

Node activity_node(const model::KinetoTrace& trace, std::uint32_t index) {
  const model::GpuActivity& activity = trace.activities[index];
  Node node;
  node.name = trace.names.text(activity.name);
  node.add("is_cpu_op", false);
  node.add_text("work", kWork[static_cast<std::size_t>(activity.kind)]);
  add_stream(activity, node);
  node.add_number("wall_ns", subtract_saturating(activity.end_ns, activity.start_ns));
  const std::string_view function = model::nccl_function_of_kernel(node.name);
  node.add_text("function", function == model::kAnyFunction ? "" : function);
  return node;
}

void add_execution_node(const model::ExecutionNode& from, Node& node) {
  node.inputs = {from.inputs.values, from.inputs.shapes, from.inputs.types};
  node.outputs = {from.outputs.values, from.outputs.shapes, from.outputs.types};
  node.add_number("et_id", from.id);
  for (const auto& attribute : from.attributes) {
    const std::string& name = attribute.first;
    const auto& value = attribute.second;
    const bool is_there = std::any_of(node.attributes.begin(), node.attributes.end(),
                                      [&](const Attribute& one) { return one.name == name; });
    if (is_there) {
      continue;
    }
    if (const auto* number = std::get_if<std::int64_t>(&value)) {
      node.add_number(name, *number);
    } else {
      node.add(name, std::get<std::string>(value));
    }
  }
}

void add_kernel(const model::KinetoTrace& trace, std::uint32_t index, Node& node) {
  node.add_text("kernel", trace.names.text(trace.activities[index].name));
  add_stream(trace.activities[index], node);
}

}  // namespace ringside::chakra
