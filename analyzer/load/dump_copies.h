// SPDX-License-Identifier: Apache-2.0
//
// Entries of a Flight Recorder dump that are there twice.
#ifndef RINGSIDE_ANALYZER_LOAD_DUMP_COPIES_H
#define RINGSIDE_ANALYZER_LOAD_DUMP_COPIES_H

#include <cstdint>
#include <map>
#include <span>

#include "analyzer/load/dump_entry.h"
#include "analyzer/load/plain_tree.h"

namespace ringside::load {

/// Two calls of a group are never made at the same nanosecond with the same name and numbers, so
/// one of two such entries is a copy that has the place of another call.
class DumpCopies {
 public:
  /// There are no copies if the times of all entries ascend: then this need not be called.
  void find(const PlainTree& tree, std::span<const PlainValue> entries, const DumpKeys& keys);

  /// The place of the entry that the one at `place` is a copy of, from 1; 0 if it is none. If both
  /// have the same `record_id`, it tells which of them `has_own_record`; else either may be the
  /// copy.
  std::uint64_t original_of(std::uint64_t place, bool has_own_record) const {
    const auto found = others_.find(place);
    return found == others_.end() || (has_own_record && found->second.has_same_record)
               ? 0
               : found->second.place;
  }

 private:
  struct Other {
    std::uint64_t place;
    bool has_same_record;
  };
  std::map<std::uint64_t, Other> others_;  // by place
};

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_DUMP_COPIES_H
