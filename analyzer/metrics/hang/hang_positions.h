// SPDX-License-Identifier: Apache-2.0
//
// The position of each rank of each communicator when its trace ended: the operations that it had
// finished, begun and enqueued last, and those that it could not finish.
#ifndef RINGSIDE_ANALYZER_METRICS_HANG_HANG_POSITIONS_H
#define RINGSIDE_ANALYZER_METRICS_HANG_HANG_POSITIONS_H

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/match/communicators/communicators.h"
#include "analyzer/match/parts.h"
#include "analyzer/model/trace.h"

namespace ringside::metrics {

/// How far an operation that is not finished was seen to come on one rank.
enum class Stage : std::uint8_t {
  kCall,      // the call itself has not returned
  kEnqueued,  // enqueued; its kernel, which is recorded, has not begun
  kCalled,    // called, and not seen to finish; whether it has begun is not told
  kProxy,     // proxy operations are open; no byte is known to have moved
  kNetwork,   // the network has moved bytes for it
  kKernel,    // its kernel has begun
};

/// An operation in flight that no later one of its rank and communicator has overtaken.
struct Front {
  std::uint32_t operation = 0;  // index into TraceFile::operations
  Stage stage = Stage::kEnqueued;
  std::int64_t since_ns = 0;  // when it was its turn, on the file's own time line
  /// From then to the end of the trace; nothing if it is not told when that was.
  std::optional<std::int64_t> waited_ns;
};

/// One rank of one communicator. Indexes are into TraceFile::operations.
struct Position {
  std::uint32_t communicator = 0;
  std::uint32_t member = 0;
  std::uint32_t file = 0;
  std::optional<std::uint32_t> rank;
  std::optional<std::uint32_t> last_finished;
  std::optional<std::uint32_t> last_started;
  std::optional<std::uint32_t> last_enqueued;
  std::optional<std::int64_t> idle_ns;  // from the end of the last finished to that of the trace
  /// One; several of a group of sends and receives, or where pairs may have their own
  /// communicators.
  std::vector<Front> fronts;
};

/// Positions of all members, by communicator and member.
std::vector<Position> find_positions(const model::Traces& traces,
                                     const std::vector<match::Communicator>& communicators);

/// Finds positions and fronts. It has the fronts as they are when it is made.
class PositionIndex {
 public:
  /// Where a front is.
  struct Place {
    std::uint32_t position = 0;  // index into the positions
    std::uint32_t front = 0;     // index into Position::fronts
  };

  explicit PositionIndex(const std::vector<Position>& positions);

  std::uint32_t position_of(std::uint32_t communicator, std::uint32_t member) const {
    return first_of_[communicator] + member;
  }
  /// NULL: no rank stands at that part.
  const Place* front_at(const match::Part& part) const;
  bool has_fronts() const { return !fronts_.empty(); }

 private:
  std::vector<std::uint32_t> first_of_;                              // position, by communicator
  std::map<std::pair<std::uint32_t, std::uint32_t>, Place> fronts_;  // by file and operation
};

/// When a rank called it, for the order of its calls: its time, then its number.
std::pair<std::int64_t, std::uint64_t> call_order(const model::Operation& operation);

/// The last moment of which the file tells.
std::int64_t end_of_trace_ns(const model::TraceFile& file);

/// b - a, kept within what fits.
std::int64_t elapsed_ns(std::int64_t a_ns, std::int64_t b_ns);

/// True if records were lost that could tell more of an operation.
bool has_lost_records(const model::TraceFile& file);

/// Keeps one file of each run (a trace and its dumps): the one with the latest moment, and of those
/// a complete one before one that is not closed. Returns a sentence for each that is left out.
std::vector<std::string> keep_latest_files(model::Traces& traces);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_HANG_HANG_POSITIONS_H
