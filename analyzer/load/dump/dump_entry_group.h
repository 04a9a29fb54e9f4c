// SPDX-License-Identifier: Apache-2.0
//
// The groups of a Flight Recorder dump, and which of them its entries name.
#ifndef RINGSIDE_ANALYZER_LOAD_DUMP_DUMP_ENTRY_GROUP_H
#define RINGSIDE_ANALYZER_LOAD_DUMP_DUMP_ENTRY_GROUP_H

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/load/dump/dump_calls.h"
#include "analyzer/load/pickle/plain_tree.h"
#include "analyzer/model/trace.h"

namespace ringside::load {

/// The number of a collective in `pg_status`, which JSON has as a text; -1 is none.
std::optional<std::int64_t> watched_number(const PlainTree& tree, const PlainValue& value);

/// The group that an entry names.
struct EntryGroup {
  /// Nothing if the dump does not say that this rank is in it: its rank there and the number of
  /// ranks are then not known.
  std::optional<std::uint32_t> context;
  std::string trouble;  // what is wrong with it
};

/// Why ranks of the group cannot be those that the call names; empty if they can be.
std::string contradiction_of(const NamedCall& call, const model::Context& context);

/// The groups of one dump. All arguments must outlive it.
class DumpGroups {
 public:
  DumpGroups(const PlainTree& tree, const PlainValue& root, model::TraceFile& file)
      : tree_(tree), root_(root), file_(file) {}

  /// Adds all groups of this rank to the file, also those that it has never called. Names of groups
  /// are the same on all their ranks, and so are the lists of these. `are_described`: by what users
  /// call them, and not by a backend. `replica_ranks`: DumpChoice has it. Returns what is damaged
  /// though no call depends on it.
  std::vector<std::string> read(std::int64_t rank, bool are_described, std::uint32_t replica_ranks);

  const EntryGroup& of(const PlainValue& entry);

  /// Groups in which this rank is not. A process lists its own groups only.
  std::uint64_t without_rank() const { return without_rank_; }

  /// Says of which groups the watchdog has seen a call behind the last entry, if there is any. To
  /// be asked when all entries have been asked for their group.
  std::vector<std::string> lost_ends(std::span<const PlainValue> entries);

  /// Gives groups that no entry names what the watchdog has seen of them, where names are numbers:
  /// PyTorch counts the names and pg_id in the order in which groups are made. To be asked last.
  void watch_rest();

 private:
  EntryGroup find(std::optional<std::int64_t> number, std::string_view name,
                  std::string_view description);
  void take_watched(const PlainValue& status, model::Context& context) const;
  bool is_description(std::string_view text) const {
    return are_described_ && !text.empty() && text != "undefined";
  }

  const PlainTree& tree_;
  const PlainValue& root_;
  model::TraceFile& file_;
  bool are_described_ = true;
  std::uint64_t without_rank_ = 0;
  PlainKey process_group_{"process_group"};
  PlainKey pg_id_{"pg_id"};
  std::map<std::string, std::uint32_t, std::less<>> contexts_;  // by the group's name
  std::array<PlainValue, 3> last_names_;                        // of of()
  std::optional<EntryGroup> last_;
  std::map<std::int64_t, std::uint32_t> numbers_;  // contexts of groups that entries name, by pg_id
};

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_DUMP_DUMP_ENTRY_GROUP_H
