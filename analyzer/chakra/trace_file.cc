// SPDX-License-Identifier: Apache-2.0
#include "analyzer/chakra/trace_file.h"

#include <algorithm>
#include <unistd.h>

#include "analyzer/merge/perfetto/protobuf.h"
#include "analyzer/report/document/json_writer.h"

namespace ringside::chakra {
namespace {

using merge::Message;

template <typename... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <typename... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

std::uint64_t unsigned_of(std::int64_t value) {
  return static_cast<std::uint64_t>(value);
}

Message message_of(const Attribute& attribute) {
  namespace field = attribute_field;
  Message message;
  message.bytes(field::kName, attribute.name);
  std::visit(
      Overloaded{[&](bool value) { message.integer(field::kBool, value ? 1 : 0); },
                 [&](std::int32_t value) {
                   message.integer(field::kInt32, unsigned_of(std::int64_t{value}));
                 },
                 [&](std::int64_t value) { message.integer(field::kInt64, unsigned_of(value)); },
                 [&](std::uint64_t value) { message.integer(field::kUint64, value); },
                 [&](const std::string& value) { message.bytes(field::kString, value); },
                 [&](const std::vector<std::uint64_t>& values) {
                   message.message(field::kUint64List, Message().packed(1, values));
                 }},
      attribute.value);
  return message;
}

Message message_of(const Tensors& tensors) {
  Message message;
  message.bytes(io_field::kValues, tensors.values);
  message.bytes(io_field::kShapes, tensors.shapes);
  message.bytes(io_field::kTypes, tensors.types);
  return message;
}

std::string behind_its_length(const Message& message) {
  std::string text;
  merge::append_varint(text, message.text().size());
  text += message.text();
  return text;
}

void write_value(report::JsonWriter& json, const Attribute& attribute) {
  const std::string& key = attribute.name;
  std::visit(Overloaded{[&](bool value) { json.boolean(key, value); },
                        [&](const std::string& value) { json.text(key, value); },
                        [&](const std::vector<std::uint64_t>& values) {
                          json.begin_row(key);
                          for (const std::uint64_t value : values) {
                            json.integer({}, value);
                          }
                          json.end_row();
                        },
                        [&](auto value) { json.integer(key, value); }},
             attribute.value);
}

void write_ids(report::JsonWriter& json, const char* key, const std::vector<std::uint64_t>& ids) {
  json.begin_row(key);
  for (const std::uint64_t id : ids) {
    json.integer({}, id);
  }
  json.end_row();
}

void write_tensors(report::JsonWriter& json, const char* key, const Tensors& tensors) {
  if (tensors.empty()) {
    return;
  }
  json.begin_object(key);
  json.text("values", tensors.values);
  json.text("shapes", tensors.shapes);
  json.text("types", tensors.types);
  json.end_object();
}

// Chakra's feeder looks for these beside the node's own members.
bool is_for_feeder(const std::string& name) {
  constexpr std::string_view kNames[] = {"is_cpu_op", "comm_type", "comm_size",    "comm_src",
                                         "comm_dst",  "comm_tag",  "comm_priority"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

void write_attributes(report::JsonWriter& json, const std::vector<Attribute>& attributes) {
  json.begin_object("attrs");
  for (const Attribute& attribute : attributes) {
    if (!is_for_feeder(attribute.name)) {
      write_value(json, attribute);
    }
  }
  json.end_object();
}

}  // namespace

std::string protobuf_of(const std::vector<Attribute>& metadata) {
  Message message;
  message.bytes(metadata_field::kVersion, kSchemaVersion);
  for (const Attribute& attribute : metadata) {
    message.message(metadata_field::kAttribute, message_of(attribute));
  }
  return behind_its_length(message);
}

// proto3 leaves out what is zero or empty.
std::string protobuf_of(const Node& node) {
  namespace field = node_field;
  Message message;
  const auto integer = [&](std::uint32_t number, std::uint64_t value) {
    if (value != 0) {
      message.integer(number, value);
    }
  };
  integer(field::kId, node.id);
  message.bytes(field::kName, node.name);
  integer(field::kType, static_cast<std::uint64_t>(node.type));
  message.packed(field::kControlDependencies, node.control_dependencies);
  message.packed(field::kDataDependencies, node.data_dependencies);
  integer(field::kStart_us, unsigned_of(std::max<std::int64_t>(node.start_us, 0)));
  integer(field::kDuration_us, unsigned_of(std::max<std::int64_t>(node.duration_us, 0)));
  if (!node.inputs.empty()) {
    message.message(field::kInputs, message_of(node.inputs));
  }
  if (!node.outputs.empty()) {
    message.message(field::kOutputs, message_of(node.outputs));
  }
  for (const Attribute& attribute : node.attributes) {
    message.message(field::kAttribute, message_of(attribute));
  }
  return behind_its_length(message);
}

std::string json_of(const Node& node) {
  report::JsonWriter json;
  json.begin_object();
  json.integer("Id", node.id);
  json.text("Name", node.name);
  json.integer("NodeType", static_cast<int>(node.type));
  write_ids(json, "ctrlDeps", node.control_dependencies);
  write_ids(json, "data_deps", node.data_dependencies);
  json.integer("start_time_micros", std::max<std::int64_t>(node.start_us, 0));
  json.integer("runtime", std::max<std::int64_t>(node.duration_us, 0));
  for (const Attribute& attribute : node.attributes) {
    if (is_for_feeder(attribute.name)) {
      write_value(json, attribute);
    }
  }
  write_tensors(json, "inputs", node.inputs);
  write_tensors(json, "outputs", node.outputs);
  write_attributes(json, node.attributes);
  json.end_object();
  std::string text = json.finish();
  text.pop_back();
  return text;
}

TraceFile::~TraceFile() {
  if (file_ != nullptr) {
    std::fclose(file_);
  }
}

bool TraceFile::write(const std::string& text) {
  return std::fwrite(text.data(), 1, text.size(), file_) == text.size();
}

bool TraceFile::begin(const std::vector<Attribute>& attributes) {
  file_ = std::fopen(path_.c_str(), "we");
  if (file_ == nullptr) {
    return false;
  }
  if (format_ == Format::kProtobuf) {
    return write(protobuf_of(attributes));
  }
  report::JsonWriter json;
  json.begin_object();
  json.text("version", kSchemaVersion);
  write_attributes(json, attributes);
  json.begin_array("workload_graph");
  json.end_array();
  json.end_object();
  std::string text = json.finish();
  text.resize(text.rfind('[') + 1);
  return write(text);
}

bool TraceFile::add(const Node& node) {
  if (format_ == Format::kProtobuf) {
    return write(protobuf_of(node));
  }
  const bool is_first = is_first_;
  is_first_ = false;
  return write((is_first ? "\n" : ",\n") + json_of(node));
}

bool TraceFile::pause() {
  const bool is_closed = std::fclose(file_) == 0;
  file_ = nullptr;
  return is_closed;
}

bool TraceFile::go_on() {
  file_ = std::fopen(path_.c_str(), "ae");
  return file_ != nullptr;
}

bool TraceFile::finish() {
  return (format_ == Format::kProtobuf || write("\n]}\n")) && std::fflush(file_) == 0 &&
         ::fsync(::fileno(file_)) == 0 && pause();
}

}  // namespace ringside::chakra
