// SPDX-License-Identifier: Apache-2.0
#include "plugin/record/names.h"

namespace ringside::record {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::array<std::string_view, 47> kNames = {
    "",
    // Functions, NCCL 2.23 to 2.31.
    "AllReduce", "AllGather", "ReduceScatter", "Broadcast", "Reduce", "Send", "Recv", "SendRecv",
    "AlltoAll", "Gather", "Scatter", "PutSignal", "Signal", "WaitSignal", "Invalid", "AllGatherV",
    // Datatypes.
    "ncclInt8", "ncclUint8", "ncclInt32", "ncclUint32", "ncclInt64", "ncclUint64", "ncclFloat16",
    "ncclFloat32", "ncclFloat64", "ncclBfloat16", "ncclFloat8e4m3", "ncclFloat8e5m2", "Unknown",
    // Algorithms.
    "TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT",
    // Protocols.
    "LL", "LL128", "SIMPLE",
    // Strategies of copy-engine collectives and other short words seen.
    "NONE", "None", "Undefined", "UNDEFINED", "Default", "MC", "UC"};
static_assert(kNames.size() <= kFirstDynamicName);

constexpr NamePrefix prefix_of(std::string_view text) {
  NamePrefix prefix{};
  for (std::size_t i = 0; i < text.size() && i < 16; ++i) {
    const auto byte = static_cast<std::uint64_t>(static_cast<unsigned char>(text[i]));
    (i < 8 ? prefix.low : prefix.high) |= byte << (8 * (i % 8));
  }
  return prefix;
}

constexpr NameTable make_table() {
  NameTable table{};
  for (std::size_t code = 1; code < kNames.size(); ++code) {
    const NamePrefix prefix = prefix_of(kNames[code]);
    std::size_t bucket = name_bucket(prefix);
    while (table[bucket].code != kNameNone) {
      bucket = (bucket + 1) % kNameBuckets;
    }
    table[bucket] = {prefix, static_cast<std::uint8_t>(code)};
  }
  return table;
}

}  // namespace

constinit const NameTable kNameTable = make_table();

std::string_view known_name_text(std::uint8_t code) noexcept {
  return code < kNames.size() ? kNames[code] : std::string_view{};
}

}  // namespace ringside::record
