// SPDX-License-Identifier: Apache-2.0
//
// The pieces of one rank's graph, each with what it depends on, and when each would begin and end
// if the graph were replayed with the recorded times. If a piece was recorded later than that,
// a gap is put before it, so that the replay takes as long as the run did. A gap counts from pieces
// whose end is known. Times are whole microseconds, as the schema has them, since the epoch on the
// common clock.
#ifndef RINGSIDE_ANALYZER_CHAKRA_SCHEDULE_H
#define RINGSIDE_ANALYZER_CHAKRA_SCHEDULE_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace ringside::chakra {

using PieceIndex = std::uint32_t;

struct Piece {
  enum class Source : std::uint8_t {
    kLead,       // from the run's first moment to the rank's
    kGap,        // time for which the trace has nothing, or none: many pieces that others follow
    kOperation,  // of NCCL: `of` counts the rank's RankOperations
    kCall,       // of the CPU: `of` counts KinetoTrace::operators
    kActivity,   // of the GPU: `of` counts KinetoTrace::activities
  };
  Source source = Source::kGap;
  bool is_cpu = false;
  bool is_timed = true;  // when it was over is known; else start_us is when it was called
  std::uint32_t of = 0;
  std::optional<PieceIndex> control;  // the operator of the CPU that called or launched it
  std::vector<PieceIndex> data;
  std::optional<PieceIndex> other_thread;  // of `data`: an operator of a thread that waked this one
  std::vector<PieceIndex> syncs;           // of `data`: work of the GPU that the CPU waited for
  std::int64_t start_us = 0;               // recorded
  std::int64_t duration_us = 0;            // net of waiting
  std::int64_t planned_end_us = 0;
  /// The last timed piece that is surely before its end: itself if it is timed.
  PieceIndex anchor = 0;
};

class Schedule {
 public:
  /// `first_us`: the rank's first moment.
  explicit Schedule(std::int64_t first_us);

  /// Adds a piece behind those that it depends on. `piece` comes without planned_end_us, with
  /// dependencies in any order, and with none if nothing is known to be before it. `end_us` is
  /// when it was over: waiting is between its start and its duration.
  PieceIndex add(Piece piece, std::int64_t end_us);

  /// Adds a piece that takes no time, behind all of these.
  PieceIndex join(std::vector<PieceIndex> pieces);

  const std::vector<Piece>& pieces() const { return pieces_; }

 private:
  std::vector<Piece> pieces_;
};

}  // namespace ringside::chakra

#endif  // RINGSIDE_ANALYZER_CHAKRA_SCHEDULE_H
