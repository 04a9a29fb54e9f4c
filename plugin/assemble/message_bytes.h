// SPDX-License-Identifier: Apache-2.0
//
// Sizes of datatypes and messages, and nccl-tests' bandwidth factors. Plugin and analyzer use them.
#ifndef RINGSIDE_PLUGIN_ASSEMBLE_MESSAGE_BYTES_H
#define RINGSIDE_PLUGIN_ASSEMBLE_MESSAGE_BYTES_H

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

namespace ringside::assemble {

/// The bytes of one element, or nothing if the name is not known. NCCL reports ncclUint8 as
/// "Unknown". The trace has the datatype "bytes" for a count that NCCL gives in bytes.
constexpr std::optional<std::uint64_t> datatype_bytes(std::string_view datatype) {
  if (datatype == "ncclInt8" || datatype == "ncclUint8" || datatype == "Unknown" ||
      datatype == "bytes" || datatype == "ncclFloat8e4m3" || datatype == "ncclFloat8e5m2") {
    return 1;
  }
  if (datatype == "ncclFloat16" || datatype == "ncclBfloat16") {
    return 2;
  }
  if (datatype == "ncclInt32" || datatype == "ncclUint32" || datatype == "ncclFloat32") {
    return 4;
  }
  if (datatype == "ncclInt64" || datatype == "ncclUint64" || datatype == "ncclFloat64") {
    return 8;
  }
  return std::nullopt;
}

/// Whether the trace can hold a number: its integers have 64 bits with a sign. A larger number is
/// from a damaged descriptor, or from one that is not NCCL's.
constexpr bool can_be_told(std::uint64_t number) {
  return number <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
}

/// The bytes of `count` elements, or nothing if they are unknown or more than a message can have.
constexpr std::optional<std::uint64_t> message_bytes(std::uint64_t count,
                                                     std::string_view datatype) {
  const std::optional<std::uint64_t> size = datatype_bytes(datatype);
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  return size && count <= kMost / *size ? std::optional(count * *size) : std::nullopt;
}

/// Whether NCCL converts the count of the Coll event to bytes (all releases from 2.23 on). The
/// datatype of the event is then ncclInt8, not the user's.
constexpr bool count_is_in_bytes(std::string_view func) {
  return func == "AllGather" || func == "Broadcast";
}

/// The factor from the message of one rank to nccl-tests' "size", the S of algbw = S / t. It is the
/// number of ranks for functions in which each rank contributes or receives a part of its own.
constexpr std::uint64_t size_factor(std::string_view func, std::uint64_t nranks) {
  const bool per_rank = func == "AllGather" || func == "ReduceScatter" || func == "AlltoAll" ||
                        func == "Gather" || func == "Scatter";
  return per_rank ? nranks : 1;
}

/// The ratio busbw / algbw of nccl-tests (getBw in its *.cu files).
constexpr double bus_factor(std::string_view func, std::uint64_t nranks) {
  const auto n = static_cast<double>(nranks);
  if (nranks == 0) {
    return 1.0;
  }
  if (func == "AllReduce") {
    return 2.0 * (n - 1.0) / n;
  }
  if (size_factor(func, 2) == 2) {
    return (n - 1.0) / n;
  }
  return 1.0;
}

/// Whether no rank can be done with the function before all ranks have come: each needs something
/// of each other one.
constexpr bool waits_for_all(std::string_view func) {
  return func == "AllReduce" || func == "AllGather" || func == "ReduceScatter" ||
         func == "AlltoAll";
}

}  // namespace ringside::assemble

#endif  // RINGSIDE_PLUGIN_ASSEMBLE_MESSAGE_BYTES_H
