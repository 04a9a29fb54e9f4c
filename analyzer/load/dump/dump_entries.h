// SPDX-License-Identifier: Apache-2.0
//
// The entries of a Flight Recorder dump in their order, each linked to the one before in its group.
#ifndef RINGSIDE_ANALYZER_LOAD_DUMP_DUMP_ENTRIES_H
#define RINGSIDE_ANALYZER_LOAD_DUMP_DUMP_ENTRIES_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/load/dump/dump_entry.h"
#include "analyzer/load/dump/dump_numbers.h"
#include "analyzer/model/trace.h"

namespace ringside::load {

class DumpEntries {
 public:
  /// Forgets all, for a dump with numbers of contexts up to `contexts`. The memory is kept for it.
  void begin(std::size_t contexts, std::size_t entries);
  /// Leaves out all of them.
  void clear() { entries_.clear(); }
  const std::vector<DumpEntry>& all() const { return entries_; }

  /// The entry stays where it is until the next one is added.
  DumpEntry& add(std::uint32_t context);
  void drop_last();
  /// The one before in its group; nullptr if there is none.
  const DumpEntry* before(const DumpEntry& entry) const {
    return entry.before == kNoEntry ? nullptr : &entries_[entry.before];
  }

  /// The meaning of an end of calls that were made together, by its numbers. Either it ends calls
  /// that are listed, and has the numbers of the last one, or they are not listed, and it has
  /// numbers of its own.
  struct EndMeaning {
    Counts counts = Counts::kNot;   // kSame if it ends listed ones, kOn if not, kNot if not known
    bool is_contradictory = false;  // one of its numbers is damaged, and the call before decides
    std::optional<std::int64_t> op_id = {};  // the one that it then has
  };
  /// `collective`: the number that it tells. `last_loss`: a record at which others were lost.
  EndMeaning meaning_of(const DumpEntry& end, std::optional<std::int64_t> collective,
                        std::optional<std::uint64_t> last_loss) const;

  /// ProcessGroupNCCL lists the calls of a group, which stay scheduled for ever. Behind them is an
  /// entry with their numbers and the state of all, `end`. Makes the calls before it a group in
  /// that state. Returns false if no call was listed.
  bool end_group(const DumpEntry& end);

  /// Calls of a group that its watchdog says have begun are no longer only called, if it counts as
  /// the entries do: its last number is that of the last one, and none is a send or receive.
  void begin_watched(std::uint32_t context, const model::Context& watched);

  /// Says that the entry of that record is damaged.
  void doubt_record(std::uint64_t record);

 private:
  bool has_numbers_of(const DumpEntry& end, const DumpEntry& entry) const;

  std::vector<DumpEntry> entries_;
  std::vector<std::size_t> last_of_context_;  // indices of entries_
  std::uint64_t ended_groups_ = 0;
};

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_DUMP_DUMP_ENTRIES_H
