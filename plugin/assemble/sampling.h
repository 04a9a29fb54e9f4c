// SPDX-License-Identifier: Apache-2.0
//
// Which operations the trace has, where it is to have some of them only. All ranks must choose the
// same, so the choice follows from what they all know: the function, the number, the size, the
// wall clock.
#ifndef RINGSIDE_PLUGIN_ASSEMBLE_SAMPLING_H
#define RINGSIDE_PLUGIN_ASSEMBLE_SAMPLING_H

#include <cstdint>
#include <string_view>

namespace ringside::assemble {

/// What an operation must fulfil to be kept; as it is made, everything is kept.
struct Sampling {
  std::uint64_t coll_of = 1;    ///< one collective of so many, by function and sequence number
  std::uint64_t p2p_of = 1;     ///< one send or receive of so many, by its place in its lane
  std::int64_t window_ns = 0;   ///< called in the first so much of each period
  std::int64_t period_ns = 0;   ///< counted from the epoch; 0: at any time
  std::uint64_t min_bytes = 0;  ///< messages of so many bytes or more, or of unknown size

  bool is_on() const { return coll_of > 1 || p2p_of > 1 || period_ns > 0 || min_bytes > 0; }
};

/// The name under which sends and receives are chosen: both ends of a pair must choose the same.
inline constexpr std::string_view kSampledPair = "SendRecv";

/// Whether an operation is kept where one `of` so many is. Of each block of `of` successive
/// numbers one is; which one, a hash of the function and of the block's number tells. So the rate
/// is exact, and what comes with the same period as the blocks (the operations of a training step)
/// is not always the same one.
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

/// Whether an operation that was called then is kept.
constexpr bool keeps_time(const Sampling& sampling, std::int64_t since_epoch_ns) {
  return sampling.period_ns <= 0 || since_epoch_ns % sampling.period_ns < sampling.window_ns;
}

}  // namespace ringside::assemble

#endif  // RINGSIDE_PLUGIN_ASSEMBLE_SAMPLING_H
