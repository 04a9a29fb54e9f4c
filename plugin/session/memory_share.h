// SPDX-License-Identifier: Apache-2.0
//
// How much of a file system in memory a process takes for its journal, its rings and its flight
// recorder. NCCL needs the same memory and fails without it: NCCL 2.29.7 takes 33 MiB for each
// process and up to some ten MiB for each connection within a node, and containers have 64 MiB by
// default. So the share is small if there is little memory, and 512 MiB are left if there is
// more.
#ifndef RINGSIDE_PLUGIN_SESSION_MEMORY_SHARE_H
#define RINGSIDE_PLUGIN_SESSION_MEMORY_SHARE_H

#include <algorithm>
#include <bit>
#include <cstdint>

namespace ringside::session {

struct MemoryWanted {
  std::uint64_t journal_bytes, ring_bytes;
  std::uint64_t flight_bytes;  ///< 0: there is no flight recorder
};

struct MemoryShare {
  std::uint64_t journal_bytes = 0;  ///< 0: there is room for nothing
  std::uint64_t ring_bytes = 0;     ///< of each ring that is a file
  std::uint64_t rings_bytes = 0;    ///< of all these rings together
  bool has_flight_recorder = false;
};

/// If less than this is free, the process takes nothing.
inline constexpr std::uint64_t kLeastFree_bytes = std::uint64_t{24} << 20;
/// The share if little is free. Rings are not made smaller than the second figure: hundreds of
/// calls come in a burst, and losing some of those is worse than what a kill may take.
inline constexpr std::uint64_t kLeastShare_bytes = std::uint64_t{2} << 20;
inline constexpr std::uint64_t kLeastRing_bytes = std::uint64_t{256} << 10;
/// A process takes a 64th of the bytes that are free beyond these: eight processes take an eighth.
inline constexpr std::uint64_t kLeftFree_bytes = std::uint64_t{512} << 20;

constexpr MemoryShare share_of_memory(std::uint64_t free_bytes, const MemoryWanted& wanted) {
  constexpr std::uint64_t kParts = 64;
  constexpr std::uint64_t kFlightParts = 16;
  constexpr std::uint64_t kRings =
      16;  // a ring is a 16th of the share; half of that is the journal's
  constexpr std::uint64_t kPageBytes = 4096;
  if (free_bytes < kLeastFree_bytes) {
    return {};
  }
  const std::uint64_t beyond = free_bytes - std::min(free_bytes, kLeftFree_bytes);
  const std::uint64_t share = std::max(beyond / kParts, kLeastShare_bytes);
  MemoryShare made;
  made.journal_bytes = std::min(wanted.journal_bytes, share / 2 / kPageBytes * kPageBytes);
  made.ring_bytes =
      std::min(wanted.ring_bytes, std::max(std::bit_floor(share / kRings), kLeastRing_bytes));
  made.rings_bytes = share - made.journal_bytes;
  made.has_flight_recorder = wanted.flight_bytes <= beyond / kFlightParts;
  return made;
}

}  // namespace ringside::session

#endif  // RINGSIDE_PLUGIN_SESSION_MEMORY_SHARE_H
