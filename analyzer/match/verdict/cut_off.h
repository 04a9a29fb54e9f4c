// SPDX-License-Identifier: Apache-2.0
//
// Calls that a rank left out, for ranks whose process was killed, or was dumped while it ran, or
// whose communicator was given up. The records of such a rank end before the job does, so only
// calls before its last one can be judged.
#ifndef RINGSIDE_ANALYZER_MATCH_VERDICT_CUT_OFF_H
#define RINGSIDE_ANALYZER_MATCH_VERDICT_CUT_OFF_H

#include <cstddef>
#include <cstdint>
#include <map>

#include "analyzer/match/matcher.h"

namespace ringside::match {

/// True if the member called no more collectives than those that are in its file, from this
/// operation on up to the last one there. Then it may have left this one out.
bool is_judged_so_far(const Member& member, const MatchedOperation& operation);

/// Whether the member, which has no part of the operation, called it all the same: newer records
/// have overwritten the part.
bool was_overwritten(const Member& member, const MatchedOperation& operation);

/// The last collective of each member whose records are complete only so far
/// (Member::is_complete_so_far, recorded_from).
class CutOff {
 public:
  CutOff() = default;  // for a communicator without such members
  /// The operations [first, last) must be all operations of one communicator.
  CutOff(const model::Traces& traces, const Matches& matches, std::size_t first, std::size_t last);

  bool lacks_any() const { return lacks_any_; }

  /// True if the member, which lacks the operation, called a collective that others called after
  /// it. If equal numbers are equal calls, it left the operation out.
  bool has_later_call(const model::Traces& traces, const Matches& matches, std::uint32_t member,
                      const MatchedOperation& operation) const;

 private:
  std::map<std::uint32_t, std::size_t> last_;  // by member: index into Matches::operations
  bool lacks_any_ = false;
};

}  // namespace ringside::match

#endif  // RINGSIDE_ANALYZER_MATCH_VERDICT_CUT_OFF_H
