// SPDX-License-Identifier: Apache-2.0
//
// Calls that a rank left out whose process was killed, or was dumped while it ran. The records of
// such a process end before the job does, so only calls before its last one can be judged.
#ifndef RINGSIDE_ANALYZER_MATCH_CUT_OFF_H
#define RINGSIDE_ANALYZER_MATCH_CUT_OFF_H

#include <cstddef>
#include <cstdint>
#include <map>

#include "analyzer/match/matcher.h"

namespace ringside::match {

/// The last collective that each member called whose records are complete so far only.
class CutOff {
 public:
  CutOff() = default;  // of a communicator without such members
  /// The operations [first, last) are all those of one communicator.
  CutOff(const model::Traces& traces, const Matches& matches, std::size_t first, std::size_t last);

  /// True if there is a collective that one of these members has no part of.
  bool lacks_any() const { return lacks_any_; }

  /// True if the member, which has no part of the operation, called a collective that others
  /// called after it: as far as their numbers are of the same calls, it left the operation out.
  bool came_past(const model::Traces& traces, const Matches& matches, std::uint32_t member,
                 const MatchedOperation& operation) const;

 private:
  std::map<std::uint32_t, std::size_t> last_;  // by member: index into Matches::operations
  bool lacks_any_ = false;
};

}  // namespace ringside::match

#endif  // RINGSIDE_ANALYZER_MATCH_CUT_OFF_H
