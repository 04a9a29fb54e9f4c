// SPDX-License-Identifier: Apache-2.0
//
// Chakra's execution trace, as MLCommons' schema 1.0 (package ChakraProtoMsg) has it: the numbers
// of its fields and enumerations, and the names of the attributes that its readers look for.
#ifndef RINGSIDE_ANALYZER_CHAKRA_SCHEMA_H
#define RINGSIDE_ANALYZER_CHAKRA_SCHEMA_H

#include <cstdint>
#include <optional>
#include <string_view>

namespace ringside::chakra {

inline constexpr const char* kSchemaVersion = "1.0.0";

enum class NodeType : std::uint8_t {
  kInvalid = 0,
  kMetadata = 1,
  kMemoryLoad = 2,
  kMemoryStore = 3,
  kComputation = 4,
  kSend = 5,
  kReceive = 6,
  kCollective = 7,
};

namespace metadata_field {
inline constexpr std::uint32_t kVersion = 1;
inline constexpr std::uint32_t kAttribute = 2;
}  // namespace metadata_field

namespace node_field {
inline constexpr std::uint32_t kId = 1;
inline constexpr std::uint32_t kName = 2;
inline constexpr std::uint32_t kType = 3;
inline constexpr std::uint32_t kControlDependencies = 4;
inline constexpr std::uint32_t kDataDependencies = 5;
inline constexpr std::uint32_t kStart_us = 6;
inline constexpr std::uint32_t kDuration_us = 7;
inline constexpr std::uint32_t kInputs = 8;
inline constexpr std::uint32_t kOutputs = 9;
inline constexpr std::uint32_t kAttribute = 10;
}  // namespace node_field

namespace io_field {
inline constexpr std::uint32_t kValues = 1;
inline constexpr std::uint32_t kShapes = 2;
inline constexpr std::uint32_t kTypes = 3;
}  // namespace io_field

namespace attribute_field {
inline constexpr std::uint32_t kName = 1;
inline constexpr std::uint32_t kInt32 = 7;
inline constexpr std::uint32_t kInt64 = 9;
inline constexpr std::uint32_t kUint64 = 13;
inline constexpr std::uint32_t kUint64List = 14;
inline constexpr std::uint32_t kBool = 27;
inline constexpr std::uint32_t kString = 29;
}  // namespace attribute_field

/// CollectiveCommType of one of NCCL's functions; nothing if the schema has no value for it.
inline std::optional<std::int64_t> collective_type(std::string_view function) {
  constexpr std::string_view kFunctions[] = {"AllReduce", "Reduce",       "AllGather",
                                             "Gather",    "Scatter",      "Broadcast",
                                             "AlltoAll",  "ReduceScatter"};
  std::int64_t value = 0;
  for (const std::string_view one : kFunctions) {
    if (one == function) {
      return value;
    }
    ++value;
  }
  return std::nullopt;
}

}  // namespace ringside::chakra

#endif  // RINGSIDE_ANALYZER_CHAKRA_SCHEMA_H
