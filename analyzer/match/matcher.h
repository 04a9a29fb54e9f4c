// SPDX-License-Identifier: Apache-2.0
//
// The same operation on every rank.
#ifndef RINGSIDE_ANALYZER_MATCH_MATCHER_H
#define RINGSIDE_ANALYZER_MATCH_MATCHER_H

#include <cstdint>
#include <span>
#include <vector>

#include "analyzer/match/common_clock.h"
#include "analyzer/match/communicators.h"
#include "analyzer/model/trace.h"

namespace ringside::match {

/// How the parts of a matched operation were found to belong together.
enum class Way : std::uint8_t {
  kSequence,  // communicator, function, sequence number
  kOrder,     // communicator, function, order of the calls: there is no sequence number
  kAligned,   // signature, order and time: the numbers cannot be trusted
  kPair,      // communicator, source, destination, order of the calls: a send and its receive
  kGroup,     // pairs that were called as a group and are a pattern: all sends and receives
};

/// What a group of sends and receives is.
enum class Pattern : std::uint8_t {
  kNone,
  kAlltoAll,   // every rank sends as much to every other
  kAlltoAllv,  // every rank sends to every other, not all as much
  kGather,     // all but one send as much to that one
  kScatter,    // one sends as much to each other
  kRing,       // every rank sends as much to the one so many places on
};

/// An operation as one rank recorded it.
struct Part {
  std::uint32_t member = 0;     // index into Communicator::members
  std::uint32_t file = 0;       // index into Traces::files
  std::uint32_t operation = 0;  // index into TraceFile::operations
};

struct MatchedOperation {
  std::uint32_t communicator = 0;  // index into Matches::communicators
  Way way = Way::kSequence;
  Pattern pattern = Pattern::kNone;     // of a group
  model::NameId func = model::kNoName;  // kNoName for a pair or group
  std::uint64_t number = 0;             // sequence number, else place in the order, from 0
  std::uint32_t occurrence = 0;         // how often that sequence number had come before
  std::uint32_t source = 0;             // ranks of a pair
  std::uint32_t destination = 0;
  std::size_t first_part = 0;  // parts are Matches::parts [first_part, first_part + part_count)
  std::uint32_t part_count = 0;
};

struct Matches {
  Runs runs;
  std::vector<Communicator> communicators;
  std::vector<MatchedOperation> operations;  // by communicator, way, function, number, occurrence
  std::vector<Part> parts;                   // of one operation: by member; of a pair: send first
  /// Sends and receives that cannot be paired, since their rank or peer is not known.
  std::uint64_t unpaired = 0;
  /// Operations were taken out, but for whole functions: calls are not all that were made.
  bool is_part = false;
};

/// Matches all operations. The k-th time that a rank gives a sequence number is matched with the
/// k-th time on the others (replays of a CUDA graph repeat them), unless numbers or order cannot be
/// trusted (untrusted.h). Takes n log n time and about 44 bytes for each record.
Matches match_operations(const model::Traces& traces);
Matches match_operations(const model::Traces& traces, const CommonClock& clock);

/// Number of ranks that take part in the operation: those of the communicator, 2 in a pair, 1 if
/// a rank sends to itself.
std::uint32_t ranks_expected(const Matches& matches, const MatchedOperation& operation);

/// Number of ranks that recorded it. A group is recognised only where all did.
std::uint32_t ranks_seen(const Matches& matches, const MatchedOperation& operation);

inline bool is_to_self(const MatchedOperation& operation) {
  return operation.way == Way::kPair && operation.source == operation.destination;
}

inline std::span<const Part> parts_of(const Matches& matches, const MatchedOperation& operation) {
  return std::span(matches.parts).subspan(operation.first_part, operation.part_count);
}

inline model::Operation operation_of(const model::Traces& traces, const Part& part) {
  return traces.files[part.file].operations[part.operation];
}

}  // namespace ringside::match

#endif  // RINGSIDE_ANALYZER_MATCH_MATCHER_H
