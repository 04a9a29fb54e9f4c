// SPDX-License-Identifier: Apache-2.0
//
// The calls of all ranks, sorted by the values by which they are matched. Only their order is kept,
// which takes four bytes a call; the values are read from the traces again.
#ifndef RINGSIDE_ANALYZER_MATCH_CALLS_SORTED_CALLS_H
#define RINGSIDE_ANALYZER_MATCH_CALLS_SORTED_CALLS_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/match/calls/entry.h"

namespace ringside::match {

/// kBatch: sends and receives in one call, whose peers are not known.
enum class Direction : std::uint8_t { kNone, kSend, kReceive, kBatch };

/// By member of one communicator: indices into TraceFile::operations, in the order of
/// Entry::series(), and within a series in the order of the calls.
using SortedCalls = std::vector<std::vector<std::uint32_t>>;

/// Some of the calls of a communicator: all that are not before `from` and are before `to`, by
/// Entry::call().
struct CallRange {
  std::uint32_t communicator = 0;
  std::optional<Entry> from;
  std::optional<Entry> to;
};

/// Reads sorted calls. The objects that it is made of must outlive it.
class CallReader {
 public:
  CallReader(const model::Traces& traces, const Communicator& communicator,
             const SortedCalls& calls, const std::vector<Direction>& directions)
      : traces_(traces), communicator_(communicator), calls_(calls), directions_(directions) {}

  /// Appends the entries of one member.
  void append(std::uint32_t member, std::vector<Entry>& entries) const {
    append(member, 0, calls_[member].size(), entries);
  }
  /// Appends the entries of all members that are in the range, by member.
  void append(const CallRange& range, std::vector<Entry>& entries) const;

  /// Appends ranges of about `entries` entries each that are together all calls. Operation and pair
  /// are whole within a range.
  void add_ranges(std::uint32_t communicator, std::size_t entries,
                  std::vector<CallRange>& ranges) const;

 private:
  Entry at(std::uint32_t member, std::size_t position) const;
  Entry bound_at(std::uint32_t member, std::size_t position) const;
  /// `guess` is a place near which it may be, which is looked at first.
  std::size_t lower_bound(std::uint32_t member, const Entry& bound, std::size_t guess) const;
  void append(std::uint32_t member, std::size_t begin, std::size_t end,
              std::vector<Entry>& entries) const;

  const model::Traces& traces_;
  const Communicator& communicator_;
  const SortedCalls& calls_;
  const std::vector<Direction>& directions_;
};

/// The calls of all communicators.
struct AllSortedCalls {
  std::vector<SortedCalls> communicators;
  std::vector<Direction> directions;    // by name of a function
  std::vector<bool> are_alike;          // by communicator: see Communicator::is_alike
  std::vector<std::uint64_t> unpaired;  // by file: as Matches::unpaired, not among the calls

  /// Returns what reads those of one of `all`.
  CallReader reader(const model::Traces& traces, const std::vector<Communicator>& all,
                    std::uint32_t communicator) const {
    return {traces, all[communicator], communicators[communicator], directions};
  }
};

AllSortedCalls sort_calls(const model::Traces& traces,
                          const std::vector<Communicator>& communicators);

}  // namespace ringside::match

#endif  // RINGSIDE_ANALYZER_MATCH_CALLS_SORTED_CALLS_H
