// SPDX-License-Identifier: Apache-2.0
//
// The conditions on which sampling keeps an operation. All ranks must keep the same operations, so
// the conditions use only what all ranks know: the function, the number, the size, the wall clock.
#ifndef RINGSIDE_PLUGIN_ASSEMBLE_SAMPLING_H
#define RINGSIDE_PLUGIN_ASSEMBLE_SAMPLING_H

#include <cstdint>
#include <string_view>

namespace ringside::assemble {

/// The conditions that an operation must meet to be kept. The default keeps all operations.
struct Sampling {
  std::uint64_t coll_of = 1;  ///< keeps one of so many collectives, by function and sequence number
  std::uint64_t p2p_of = 1;   ///< keeps one of so many sends or receives, by its number in its lane
  std::int64_t window_ns = 0;  ///< keeps operations called in the first window_ns of each period
  std::int64_t period_ns = 0;  ///< periods count from the epoch; 0: operations of any time are kept
  std::uint64_t min_bytes = 0;  ///< keeps messages of so many bytes or more, or of unknown size

  bool is_on() const { return coll_of > 1 || p2p_of > 1 || period_ns > 0 || min_bytes > 0; }
};

/// The function name for sends and receives, so that both ends of a pair choose the same.
inline constexpr std::string_view kSampledPair = "SendRecv";

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

/// Whether an operation that was called at this time is kept.
constexpr bool keeps_time(const Sampling& sampling, std::int64_t since_epoch_ns) {
  return sampling.period_ns <= 0 || since_epoch_ns % sampling.period_ns < sampling.window_ns;
}

}  // namespace ringside::assemble

#endif  // RINGSIDE_PLUGIN_ASSEMBLE_SAMPLING_H
