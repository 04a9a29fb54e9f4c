// SPDX-License-Identifier: Apache-2.0
//
// Entries of a Flight Recorder dump that are there twice.
#ifndef RINGSIDE_ANALYZER_LOAD_DUMP_DUMP_COPIES_H
#define RINGSIDE_ANALYZER_LOAD_DUMP_DUMP_COPIES_H

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "analyzer/load/dump/dump_entry.h"
#include "analyzer/load/pickle/plain_tree.h"

namespace ringside::load {

/// Two calls of a group are never made at the same nanosecond with the same name, so one of two
/// such entries is a copy that has the place of another call, if they have the same numbers, or if
/// the time or numbers of one of them do not lie between those of its neighbours.
class DumpCopies {
 public:
  /// There are no copies if the times of all entries ascend: then this need not be called.
  void find(const PlainTree& tree, std::span<const PlainValue> entries, const DumpKeys& keys);

  /// Why the entry at `place`, from 1, is left out; nothing if it is no copy. If both have the same
  /// `record_id`, it tells which of them `has_own_record`.
  std::optional<std::string> trouble_of(std::uint64_t place, bool has_own_record) const;

 private:
  struct Other {
    std::uint64_t place = 0;
    bool has_same_record = false;
    bool fits = false;  // the entry at its place, and the other one does not
    bool does_other_fit = false;
  };
  std::map<std::uint64_t, Other> others_;  // by place
};

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_DUMP_DUMP_COPIES_H
