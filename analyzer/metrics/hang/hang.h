// SPDX-License-Identifier: Apache-2.0
//
// Finds the operations that are stuck, the ranks that have not joined them, and which rank waits
// for which. docs/metrics.md says how each is decided, and when nothing is decided.
#ifndef RINGSIDE_ANALYZER_METRICS_HANG_HANG_H
#define RINGSIDE_ANALYZER_METRICS_HANG_HANG_H

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "analyzer/align/alignment.h"
#include "analyzer/match/matcher.h"
#include "analyzer/match/verdict/verdict.h"
#include "analyzer/metrics/hang/hang_order.h"
#include "analyzer/metrics/hang/hang_positions.h"
#include "analyzer/metrics/hang/last_calls.h"
#include "analyzer/metrics/hang/wait_graph.h"
#include "analyzer/model/trace.h"

namespace ringside::metrics {

/// Why nothing can be said of a rank that has no record of an operation.
enum class Unknown : std::uint8_t {
  kNoTrace,     // no trace of it was read
  kNotWritten,  // its trace is not closed and no dump: what is in flight is not in it
  kEndsBefore,  // its dump is from before the others were stuck
  kLost,        // records were lost, or recording was off, or numbers cannot be trusted
};
inline constexpr std::size_t kUnknownCount = 4;

/// A rank for which an operation waits.
struct Blocker {
  enum class Why : std::uint8_t {
    kNotJoined,  // it has not called it
    kNotBegun,   // it has called it, and was not seen to begin it, though others were
    kBehind,     // it has called it, and is stuck in something that it called before
  };
  std::uint32_t position = 0;
  Why why = Why::kNotJoined;
  /// The operation that its process is stuck in itself: index into Hang::operations. Nothing: it is
  /// not seen to be stuck in another operation.
  std::optional<std::uint32_t> stuck_in;
  /// Only the hosts' clocks tell that its dump is not older than the hang, and nothing bounds them
  /// against each other. It is so if they differ by less than this.
  std::optional<std::int64_t> supposed_ns = std::nullopt;
};

/// A matched operation in which at least one rank is stuck.
struct StuckOperation {
  std::size_t matched = 0;             // index into Matches::operations
  std::vector<std::uint32_t> waiting;  // positions of the ranks that are stuck in it
  std::uint32_t finished = 0;          // ranks that have finished it
  std::uint32_t seen = 0;              // ranks of which only the enqueue can be seen
  std::vector<Blocker> blockers;       // by rank
  /// Ranks, by Unknown; those without a trace only of a send with its receive.
  std::array<std::vector<std::uint32_t>, kUnknownCount> unknown;
  std::int64_t since_ns = 0;     // since the first rank waits, on the common clock
  std::uint32_t since_file = 0;  // whose time that is
  /// Longest wait of a rank, by its own clock; nothing if no rank tells it.
  std::optional<std::int64_t> waited_ns;
  match::Difference differs = match::Difference::kNone;  // in which the ranks disagree
  bool is_doubtful = false;     // records of all that wait were lost: it may have finished
  bool is_only_called = false;  // no rank was seen to run it: see last_calls.h
  /// Nothing shows that it is stuck: how long a rank waits is not told, and whether the ranks that
  /// it may wait for have joined is not known.
  bool is_unknown = false;
};

struct Hang {
  match::Matches matches;
  std::vector<match::Judgement> judgements;  // of Matches::operations
  std::vector<Position> positions;           // by communicator and member
  std::vector<StuckOperation> operations;    // by since_ns
  /// Ranks of which no trace was read, of communicators with a stuck collective: see unread().
  std::map<std::uint32_t, std::vector<std::uint32_t>> without_trace;
  /// Operations in a ring: each waits for a rank that is stuck in the next, the last for one in
  /// the first. Empty if there is no such ring.
  std::vector<std::uint32_t> cycle;
  /// Calls that may wait for each other, though nothing shows that they are stuck.
  std::optional<OppositeOrder> opposite_order;
  std::vector<UndecidedCall> undecided;  // by communicator
  /// Positions of ranks in a call which could not be aligned with those of the others, so that
  /// nobody knows who has joined it.
  std::vector<std::uint32_t> unaligned;
  std::int64_t younger_ns = 0;  // the longest wait that is shorter than --min-age; 0: none is
  /// Operations that have been enqueued, and on no rank were seen to begin; by communicator.
  std::map<std::uint32_t, std::uint64_t> enqueued_only;
  /// The first of these of dumps that tell no begin, an index into Matches::operations: it may be
  /// stuck, and nothing else shows it.
  std::map<std::uint32_t, std::size_t> never_told;
  std::map<std::uint32_t, std::uint64_t> too_young;  // in flight for less than the least age
  std::vector<bool> is_hidden;  // communicators that are of no interest; empty: none

  bool shows(std::uint32_t communicator) const {
    return is_hidden.empty() || !is_hidden[communicator];
  }
  const match::MatchedOperation& matched(const StuckOperation& operation) const {
    return matches.operations[operation.matched];
  }
  /// Ranks that may have part in it, and of which no trace was read.
  const std::vector<std::uint32_t>& unread(const StuckOperation& operation) const;
  /// Whether nothing can be said of some of its ranks.
  bool has_unknown_rank(const StuckOperation& operation) const;
};

/// Which of Hang::operations waits for which.
WaitGraph graph_of(const std::vector<StuckOperation>& operations);

/// `min_age_ns`: what has waited less is not stuck.
Hang find_hang(const model::Traces& traces, const align::Alignment& alignment,
               std::int64_t min_age_ns);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_HANG_HANG_H
