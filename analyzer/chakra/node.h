// SPDX-License-Identifier: Apache-2.0
//
// A node of an execution trace, before it is written as protobuf or JSON.
#ifndef RINGSIDE_ANALYZER_CHAKRA_NODE_H
#define RINGSIDE_ANALYZER_CHAKRA_NODE_H

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "analyzer/chakra/schema.h"

namespace ringside::chakra {

/// The kind of value is the one that Chakra's readers look for: they read no other.
using Value = std::variant<bool, std::int32_t, std::int64_t, std::uint64_t, std::string,
                           std::vector<std::uint64_t>>;

struct Attribute {
  std::string name;
  Value value;
};

/// As PyTorch's execution trace writes the tensors of an operator: texts of JSON.
struct Tensors {
  std::string values;
  std::string shapes;
  std::string types;
  bool empty() const { return values.empty() && shapes.empty() && types.empty(); }
};

struct Node {
  std::uint64_t id = 0;
  std::string name;
  NodeType type = NodeType::kComputation;
  std::vector<std::uint64_t> control_dependencies;
  std::vector<std::uint64_t> data_dependencies;
  std::int64_t start_us = 0;  // since the epoch, on the common clock
  std::int64_t duration_us = 0;
  Tensors inputs;
  Tensors outputs;
  std::vector<Attribute> attributes;

  void add(std::string_view attribute, Value value) {
    attributes.push_back({std::string(attribute), std::move(value)});
  }
  void add_text(std::string_view attribute, std::string_view text) {
    if (!text.empty()) {
      add(attribute, std::string(text));
    }
  }
  template <typename Integer>
  void add_number(std::string_view attribute, const Integer& number) {
    add(attribute, static_cast<std::int64_t>(number));
  }
};

}  // namespace ringside::chakra

#endif  // RINGSIDE_ANALYZER_CHAKRA_NODE_H
