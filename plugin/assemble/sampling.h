// SPDX-License-Identifier: Apache-2.0
//
// Which collectives sampling keeps. All ranks must keep the same ones, so the choice uses only what
// all ranks know: the function and the sequence number.
#ifndef RINGSIDE_PLUGIN_ASSEMBLE_SAMPLING_H
#define RINGSIDE_PLUGIN_ASSEMBLE_SAMPLING_H

#include <cstdint>
#include <string_view>

namespace ringside::assemble {

/// Up to this version of the interface, NCCL numbers collectives only while they are recorded.
/// Ranks might choose different ones, so all are kept.
inline constexpr int kLastAbiWithoutSampling = 3;

/// Whether an operation is kept when one of every `of` operations is. From each block of `of`
/// successive numbers one is kept; a hash of the function and the block's number determines which.
/// So the rate is exact. If a training step has the period of the blocks, the operation that is
/// kept still varies.
///
///     block = number / of
///     kept  = number % of == splitmix64(fnv1a64(function) + block) % of
constexpr bool keeps_number(std::string_view function, std::uint64_t number, std::uint64_t of) {
  if (of <= 1) {
    return true;
  }
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (const char letter : function) {
    hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001B3U;
  }
  hash += number / of + 0x9E3779B97F4A7C15U;
  hash = (hash ^ (hash >> 30)) * 0xBF58476D1CE4E5B9U;
  hash = (hash ^ (hash >> 27)) * 0x94D049BB133111EBU;
  hash ^= hash >> 31;
  return number % of == hash % of;
}

}  // namespace ringside::assemble

#endif  // RINGSIDE_PLUGIN_ASSEMBLE_SAMPLING_H
