// SPDX-License-Identifier: Apache-2.0
//
// Prepares the calls of one rank for alignment where their numbers or order cannot be trusted.
#ifndef RINGSIDE_ANALYZER_MATCH_UNTRUSTED_LANES_H
#define RINGSIDE_ANALYZER_MATCH_UNTRUSTED_LANES_H

#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

#include "analyzer/match/calls/common_clock.h"
#include "analyzer/match/calls/entry.h"
#include "analyzer/match/untrusted/align_calls.h"

namespace ringside::match {

/// Why the operations of a stream are not matched by their numbers.
enum class Doubt : std::uint8_t { kNone, kLateCount, kRepeats, kNoNumber, kPairs };

/// Calls that are aligned together: those of one function, all calls with repeated numbers, or the
/// sends and receives between two ranks in one direction.
struct Stream {
  Doubt doubt = Doubt::kNone;
  bool has_positions = false;  // its sequence numbers are right up to a shift
  model::NameId func = model::kNoName;
  std::uint64_t pair = 0;  // Entry::key of sends and receives

  auto tied() const { return std::tie(doubt, has_positions, func, pair); }
  bool operator<(const Stream& other) const { return tied() < other.tied(); }
};

/// All calls of one stream by one member, in pieces between interruptions of the recording.
struct Lane {
  std::uint32_t member = 0;
  std::vector<Call> calls;  // Call::operation is an index into the entries
  std::vector<Piece> pieces;
  bool is_exact = false;
};

class LaneMaker {
 public:
  /// `signs_datatype`: signatures include the datatype, because all ranks report it alike.
  /// `signs_key`: they include repeated numbers.
  LaneMaker(const model::Traces& traces, const CommonClock& clock, const Communicator& communicator,
            const std::vector<Entry>& entries, bool signs_datatype, bool signs_key)
      : traces_(traces),
        clock_(clock),
        communicator_(communicator),
        entries_(entries),
        signs_datatype_(signs_datatype),
        signs_key_(signs_key) {}

  /// `indices` are entries of one member.
  Lane make(const Stream& stream, std::span<const std::uint32_t> indices) const;

 private:
  model::Operation operation_of_entry(const Entry& entry) const {
    return traces_.files[communicator_.members[entry.member].file].operations[entry.operation];
  }
  Call make_call(const Stream& stream, std::uint32_t index) const;
  void cut_into_pieces(Lane& lane) const;

  const model::Traces& traces_;
  const CommonClock& clock_;
  const Communicator& communicator_;
  const std::vector<Entry>& entries_;
  bool signs_datatype_;
  bool signs_key_;
};

}  // namespace ringside::match

#endif  // RINGSIDE_ANALYZER_MATCH_UNTRUSTED_LANES_H
