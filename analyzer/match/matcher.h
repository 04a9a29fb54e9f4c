// SPDX-License-Identifier: Apache-2.0
//
// Matches the records of one operation on all ranks.
#ifndef RINGSIDE_ANALYZER_MATCH_MATCHER_H
#define RINGSIDE_ANALYZER_MATCH_MATCHER_H

#include <cstdint>
#include <memory>
#include <vector>

#include "analyzer/match/calls/common_clock.h"
#include "analyzer/match/communicators/communicators.h"
#include "analyzer/match/parts.h"
#include "analyzer/model/trace.h"

namespace ringside::match {

/// How the parts of a matched operation were found to belong together.
enum class Way : std::uint8_t {
  kSequence,  // communicator, function, sequence number
  kOrder,    // communicator, function, order of the calls; for operations without a sequence number
  kAligned,  // signature, order and time; where numbers cannot be trusted
  kPair,     // communicator, source, destination, order of the calls; a send and its receive. The
             // order is aligned like untrusted numbers unless both counted from the same call on
  kGroup,    // all sends and receives of a group that is a pattern
};

/// The pattern of a group of sends and receives.
enum class Pattern : std::uint8_t {
  kNone,
  kAlltoAll,   // every rank sends the same size to every other
  kAlltoAllv,  // every rank sends to every other, and sizes differ
  kGather,     // all ranks but one send the same size to that one
  kScatter,    // one rank sends the same size to every other
  kRing,       // every rank sends the same size to the rank at one distance
};

struct MatchedOperation {
  std::uint32_t communicator = 0;  // index into Matches::communicators
  Way way = Way::kSequence;
  Pattern pattern = Pattern::kNone;  // if way is kGroup
  bool is_aligned = false;           // found by signature, order and time, not by trusted numbers
  model::NameId func = model::kNoName;  // kNoName for a pair or group
  std::uint64_t number = 0;             // sequence number, or index in the order of calls
  std::uint32_t occurrence = 0;         // how often the number occurred before
  std::uint32_t source = 0;             // ranks of a pair; 0 for other ways
  std::uint32_t destination = 0;
  std::size_t first_part = 0;  // parts are Matches::parts [first_part, first_part + part_count)
  std::uint32_t part_count = 0;
};

struct Matches {
  Runs runs;
  std::vector<Communicator> communicators;
  std::vector<MatchedOperation> operations;  // by communicator, way, function, number, occurrence
  Parts parts;                               // sorted by member; in a pair the send is first
  /// Sends and receives that cannot be paired, because their rank or peer is not known.
  std::uint64_t unpaired = 0;
  /// Collective operations of single ranks whose sequence numbers are not trusted.
  std::uint64_t untrusted = 0;
  /// True if a selection removed some operations of a function, so the calls are incomplete.
  bool is_part = false;
};

struct AllSortedCalls;
struct Entry;

/// Matches in two steps, because clocks are aligned by what is matched without them. Replays of a
/// CUDA graph repeat sequence numbers: a rank's k-th use is matched with the k-th use of the
/// others, unless numbers or order cannot be trusted (untrusted.h). Takes n log n time, on all
/// cores, and 6 bytes for each recorded operation, of which 2 stay; 32 more for those whose numbers
/// cannot be trusted.
class Matching {
 public:
  /// Matches what has numbers that can be trusted.
  explicit Matching(const model::Traces& traces);
  Matching(Matching&& other) noexcept;
  Matching& operator=(Matching&& other) noexcept;
  ~Matching();

  const Matches& trusted() const { return matches_; }
  /// Whether these are all, so that finish() asks no clock.
  bool is_finished() const { return unfinished_.empty(); }

  /// Adds the rest, by signature, order and time, and gives all of it away.
  Matches finish(const model::Traces& traces, const CommonClock& clock) &&;

 private:
  /// A communicator that has entries without trusted numbers.
  struct Unfinished {
    std::uint32_t communicator = 0;
    std::vector<Entry> untrusted;
  };

  Matches matches_;
  std::unique_ptr<AllSortedCalls> calls_;  // that have trusted numbers, of unfinished communicators
  std::vector<Unfinished> unfinished_;     // by communicator
};

/// Both steps at once.
Matches match_operations(const model::Traces& traces);
Matches match_operations(const model::Traces& traces, const CommonClock& clock);

/// Returns how many ranks take part in the operation: all of the communicator, 2 in a pair, 1 if a
/// rank sends to itself.
std::uint32_t ranks_expected(const Matches& matches, const MatchedOperation& operation);

/// Whether there is an operation of a communicator whose ranks are not known (why_alone).
bool has_operations_alone(const Matches& matches);

/// Returns how many ranks recorded it. A group is recognised only if all ranks did.
std::uint32_t ranks_seen(const Matches& matches, const MatchedOperation& operation);

inline bool is_to_self(const MatchedOperation& operation) {
  return operation.way == Way::kPair && operation.source == operation.destination;
}

inline Parts::Range parts_of(const Matches& matches, const MatchedOperation& operation) {
  return {matches.parts, operation.first_part, operation.part_count};
}

inline model::Execution execution_of(const model::Traces& traces, const Part& part) {
  return traces.files[part.file].operations.execution(part.operation);
}

inline model::Operation operation_of(const model::Traces& traces, const Part& part) {
  return traces.files[part.file].operations[part.operation];
}

}  // namespace ringside::match

#endif  // RINGSIDE_ANALYZER_MATCH_MATCHER_H
