// SPDX-License-Identifier: Apache-2.0
//
// The calls of one rank whose numbers or order cannot be trusted, ready to be aligned.
#ifndef RINGSIDE_ANALYZER_MATCH_LANES_H
#define RINGSIDE_ANALYZER_MATCH_LANES_H

#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

#include "analyzer/match/align_calls.h"
#include "analyzer/match/common_clock.h"
#include "analyzer/match/entry.h"

namespace ringside::match {

/// Why the operations of a stream are not matched by their numbers.
enum class Doubt : std::uint8_t { kNone, kLateCount, kRepeats, kNoNumber };

/// What is aligned together: by function, except repeated numbers, which tell the function.
struct Stream {
  Doubt doubt = Doubt::kNone;
  bool has_positions = false;  // sequence numbers that are true but for a shift
  model::NameId func = model::kNoName;

  auto tied() const { return std::tie(doubt, has_positions, func); }
  bool operator<(const Stream& other) const { return tied() < other.tied(); }
};

/// All calls of one stream by one member, cut where recording was interrupted.
struct Lane {
  std::uint32_t member = 0;
  std::vector<Call> calls;  // operation: index into the entries
  std::vector<Piece> pieces;
  bool is_exact = false;
};

/// Mixes a value into a hash.
std::uint64_t mix(std::uint64_t hash, std::uint64_t value);

class LaneMaker {
 public:
  /// `signs_datatype`: all ranks tell the same one. `signs_key`: repeated numbers are true ones.
  LaneMaker(const model::Traces& traces, const CommonClock& clock, const Communicator& communicator,
            const std::vector<Entry>& entries, bool signs_datatype, bool signs_key)
      : traces_(traces),
        clock_(clock),
        communicator_(communicator),
        entries_(entries),
        signs_datatype_(signs_datatype),
        signs_key_(signs_key) {}

  /// Of the entries with these indices, which are of one member.
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

#endif  // RINGSIDE_ANALYZER_MATCH_LANES_H
