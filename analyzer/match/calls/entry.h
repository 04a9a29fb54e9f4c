// SPDX-License-Identifier: Apache-2.0
//
// An operation that is being matched. There is one entry for each operation of each file, so it is
// small.
#ifndef RINGSIDE_ANALYZER_MATCH_CALLS_ENTRY_H
#define RINGSIDE_ANALYZER_MATCH_CALLS_ENTRY_H

#include <cstdint>
#include <tuple>

#include "analyzer/match/matcher.h"

namespace ringside::match {

/// The key of an aligned operation has the position in its lower bits, this many, and the stream
/// above them.
inline constexpr unsigned kAlignedNumberBits = 62;

/// Entries of one communicator with equal call() are one operation.
struct Entry {
  std::uint64_t key = 0;  // sequence number, ranks of a pair, or aligned position
  model::NameId func = model::kNoName;
  std::uint32_t member = 0;
  std::uint32_t operation = 0;   // index into TraceFile::operations
  std::uint32_t occurrence = 0;  // how many earlier entries of the member have this key
  Way way = Way::kSequence;
  bool receives = false;
  bool is_aligned = false;  // found by signature, order and time

  auto series() const { return std::tie(way, func, key, receives); }
  auto call() const { return std::tie(way, func, key, occurrence); }
};

/// Returns the time of the call, which orders the calls of one rank.
inline std::int64_t time_of(const model::Operation& operation) {
  return operation.enqueue_start_ns.value_or(operation.start_ns.value_or(0));
}

}  // namespace ringside::match

#endif  // RINGSIDE_ANALYZER_MATCH_CALLS_ENTRY_H
