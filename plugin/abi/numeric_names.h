// SPDX-License-Identifier: Apache-2.0
//
// NCCL's enumerations as they were in 2.23, in order, because version 1 of the interface gives
// numbers. The adapter of newer releases maps their newer functions to Send and their newer
// datatypes to Float64, and nothing here can undo that. Every other version gives names, which
// name_of() returns as they are.
#ifndef RINGSIDE_PLUGIN_ABI_NUMERIC_NAMES_H
#define RINGSIDE_PLUGIN_ABI_NUMERIC_NAMES_H

#include <cstddef>
#include <cstdint>

namespace ringside::abi {

inline constexpr const char* kFuncs[] = {"Broadcast", "Reduce",   "AllGather", "ReduceScatter",
                                         "AllReduce", "SendRecv", "Send",      "Recv"};
inline constexpr const char* kDatatypes[] = {
    "ncclInt8",   "ncclUint8",   "ncclInt32",   "ncclUint32",  "ncclInt64",
    "ncclUint64", "ncclFloat16", "ncclFloat32", "ncclFloat64", "ncclBfloat16"};
inline constexpr const char* kAlgos[] = {
    "TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT"};
inline constexpr const char* kProtos[] = {"LL", "LL128", "SIMPLE"};

template <std::size_t kSize>
const char* name_of(const char* const (&names)[kSize], std::uint8_t number) {
  return number < kSize ? names[number] : nullptr;
}
template <std::size_t kSize>
const char* name_of(const char* const (&)[kSize], const char* name) {
  return name;
}

}  // namespace ringside::abi

#endif  // RINGSIDE_PLUGIN_ABI_NUMERIC_NAMES_H
