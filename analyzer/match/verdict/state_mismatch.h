// SPDX-License-Identifier: Apache-2.0
//
// Finds operations that finished on some ranks and were in flight on others at a later moment.
#ifndef RINGSIDE_ANALYZER_MATCH_VERDICT_STATE_MISMATCH_H
#define RINGSIDE_ANALYZER_MATCH_VERDICT_STATE_MISMATCH_H

#include "analyzer/match/calls/common_clock.h"
#include "analyzer/match/matcher.h"
#include "analyzer/match/verdict/overtaken.h"

namespace ringside::match {

class StateMismatch {
 public:
  /// The clock must know the uncertainty between files. An uncertainty that is not known is the
  /// greatest number, and nothing is concluded from these two clocks.
  StateMismatch(const model::Traces& traces, CommonClock clock);

  /// True if one rank finished the operation before the last moment at which it was in flight on
  /// another, whose process was dumped or killed. In a trace that was closed normally, "in flight"
  /// may mean "evicted". An operation that a later one has overtaken is not in flight.
  bool is_there(const Parts::Range& parts);

 private:
  const model::Traces& traces_;
  const CommonClock clock_;
  Overtaken overtaken_;
};

}  // namespace ringside::match

#endif  // RINGSIDE_ANALYZER_MATCH_VERDICT_STATE_MISMATCH_H
