// SPDX-License-Identifier: Apache-2.0
//
// The begin of a Flight Recorder dump: its buffer is a ring, whose first records may be lost.
#ifndef RINGSIDE_ANALYZER_LOAD_DUMP_DUMP_BEGIN_H
#define RINGSIDE_ANALYZER_LOAD_DUMP_DUMP_BEGIN_H

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include "analyzer/load/dump/dump_entry.h"
#include "analyzer/load/pickle/plain_tree.h"

namespace ringside::load {

/// A time in nanoseconds since the epoch. JSON writes 0 for one that a pickle has None for.
inline std::optional<std::int64_t> time_of(const PlainValue& value) {
  const auto time_ns = integer_of(value);
  return time_ns && *time_ns > 0 ? time_ns : std::nullopt;
}

/// The `record_id` of an entry; nothing if it cannot be one.
inline std::optional<std::int64_t> record_of(const PlainTree& tree, const PlainValue& entry,
                                             const DumpKeys& keys) {
  constexpr std::int64_t kMostRecords = std::int64_t{1} << 62;
  const auto record = integer_of(tree.at(entry, keys.record_id));
  return record && *record >= 0 && *record < kMostRecords ? record : std::nullopt;
}

struct DumpBegin {
  std::int64_t begin_ns = 0;    // the time of the first call; 0 if there is none
  std::uint64_t lost = 0;       // records before the first entry
  bool do_times_ascend = true;  // those of all entries
};

inline DumpBegin begin_of(const PlainTree& tree, std::span<const PlainValue> entries,
                          const DumpKeys& keys) {
  constexpr std::int64_t kNotFound = std::numeric_limits<std::int64_t>::max();
  DumpBegin begin;
  std::int64_t first_ns = kNotFound;
  std::int64_t last_ns = 0;
  std::int64_t least = kNotFound;
  std::int64_t place = 0;
  for (const PlainValue& entry : entries) {
    const auto created_ns = time_of(tree.at(entry, keys.time_created_ns));
    begin.do_times_ascend = begin.do_times_ascend && created_ns.value_or(kNotFound) > last_ns;
    last_ns = created_ns.value_or(last_ns);
    first_ns = std::min(first_ns, created_ns.value_or(kNotFound));
    const std::int64_t record = record_of(tree, entry, keys).value_or(kNotFound);
    if (record < least) {
      least = record;
      // The entries before it are damaged.
      begin.lost = static_cast<std::uint64_t>(std::max<std::int64_t>(record - place, 0));
    }
    ++place;
  }
  begin.begin_ns = first_ns == kNotFound ? 0 : first_ns;
  return begin;
}

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_DUMP_DUMP_BEGIN_H
