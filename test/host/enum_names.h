// SPDX-License-Identifier: Apache-2.0
//
// NCCL's enum values, as version 1 of the profiler interface passes them, and the names that the
// later versions pass instead.
#ifndef RINGSIDE_TEST_HOST_ENUM_NAMES_H
#define RINGSIDE_TEST_HOST_ENUM_NAMES_H

#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace ringside::host {

struct EnumNames {
  std::array<const char*, 12> names;

  /// "Unknown" for a value that has no name.
  std::string_view name(std::uint64_t value) const {
    return value < names.size() && names[value] != nullptr ? names[value] : "Unknown";
  }

  /// other for a name that has no value.
  std::uint8_t value(const char* text, std::uint8_t other) const {
    for (std::size_t i = 0; text != nullptr && i < names.size(); i++) {
      if (names[i] != nullptr && std::strcmp(names[i], text) == 0) {
        return static_cast<std::uint8_t>(i);
      }
    }
    return other;
  }
};

inline constexpr EnumNames kFunctions = {
    {"Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce", "SendRecv", "Send", "Recv"}};
// NCCL has no name for ncclUint8.
inline constexpr EnumNames kDatatypes = {
    {"ncclInt8", "Unknown", "ncclInt32", "ncclUint32", "ncclInt64", "ncclUint64", "ncclFloat16",
     "ncclFloat32", "ncclFloat64", "ncclBfloat16", "ncclFloat8e4m3", "ncclFloat8e5m2"}};
inline constexpr EnumNames kAlgorithms = {
    {"TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT"}};
inline constexpr EnumNames kProtocols = {{"LL", "LL128", "SIMPLE"}};

// NCCL's adapter for version 1 turns a name that it does not know into this.
inline constexpr std::uint8_t kUnknownFunction = 6;
inline constexpr std::uint8_t kUnknownDatatype = 8;

}  // namespace ringside::host

#endif  // RINGSIDE_TEST_HOST_ENUM_NAMES_H
