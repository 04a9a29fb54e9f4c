// SPDX-License-Identifier: Apache-2.0
//
// An operation on its way to its match. There is one for each record, so it is small.
#ifndef RINGSIDE_ANALYZER_MATCH_ENTRY_H
#define RINGSIDE_ANALYZER_MATCH_ENTRY_H

#include <cstdint>
#include <tuple>

#include "analyzer/match/matcher.h"

namespace ringside::match {

/// An aligned key has its position in so many bits, and above them which stream it is of.
inline constexpr unsigned kAlignedNumberBits = 62;

/// Entries of one communicator that agree in all of call() are one operation.
struct Entry {
  std::uint64_t key = 0;  // sequence number; source and destination of a pair; aligned position
  model::NameId func = model::kNoName;
  std::uint32_t member = 0;
  std::uint32_t operation = 0;   // index into TraceFile::operations
  std::uint32_t occurrence = 0;  // how often the member had given that key before
  Way way = Way::kSequence;
  bool receives = false;

  auto series() const { return std::tie(way, func, key, receives); }
  auto call() const { return std::tie(way, func, key, occurrence); }
};

/// When the operation was called, for the order of the calls of one rank.
inline std::int64_t time_of(const model::Operation& operation) {
  return operation.enqueue_start_ns.value_or(operation.start_ns.value_or(0));
}

}  // namespace ringside::match

#endif  // RINGSIDE_ANALYZER_MATCH_ENTRY_H
