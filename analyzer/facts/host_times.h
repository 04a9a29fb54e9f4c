// SPDX-License-Identifier: Apache-2.0
//
// Puts the times of one operation, by the clocks of its hosts, on the common clock. Each host's
// times are moved by one offset, so durations stay those of the host's own clock, however well its
// rate is known.
#ifndef RINGSIDE_ANALYZER_FACTS_HOST_TIMES_H
#define RINGSIDE_ANALYZER_FACTS_HOST_TIMES_H

#include <cstdint>
#include <span>

#include "analyzer/align/alignment.h"
#include "analyzer/facts/rank_times.h"

namespace ringside::facts {

/// The last arrival of ranks whose times are by the clocks of their hosts, on the common clock. Of
/// several parts of an operation's ranks it is the last one of any. `rows` must not be empty.
std::int64_t last_arrival_of(const align::Alignment& alignment, std::span<const RankTimes> rows);

/// Moves them to the common clock, and fills in clock_ns. The ranks of a host best follow each
/// other. `all_need_all`: every rank needs every other, so what happens before the last arrival is
/// compared with that moment only. Rows of align::kUnknownError are on no clock, and stay.
void put_on_common_clock(const align::Alignment& alignment, bool all_need_all,
                         std::span<RankTimes> rows);

}  // namespace ringside::facts

#endif  // RINGSIDE_ANALYZER_FACTS_HOST_TIMES_H
