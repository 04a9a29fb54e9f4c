// SPDX-License-Identifier: Apache-2.0
//
// Finds by the order of calls which calls in flight cannot finish, for sources that do not tell
// when the GPU began a call (model::Process::tells_begin). An operation that all ranks have called
// may be running there.
#ifndef RINGSIDE_ANALYZER_METRICS_HANG_HANG_ORDER_H
#define RINGSIDE_ANALYZER_METRICS_HANG_HANG_ORDER_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/match/matcher.h"
#include "analyzer/match/verdict/verdict.h"
#include "analyzer/metrics/hang/hang_positions.h"
#include "analyzer/model/trace.h"

namespace ringside::metrics {

/// True if the operation cannot finish on the ranks that are in it: a rank has not called it, or
/// ranks called it with different arguments. `index` is into Matches::operations.
bool lacks_a_rank(const match::Matches& matches, const std::vector<match::Judgement>& judgements,
                  std::size_t index);

/// Makes a rank's first call in flight that surely cannot finish a front, too: ranks made another
/// call in its place, or left it out. Ranks with a front that lacks another rank keep their fronts.
void add_hopeless_calls(const model::Traces& traces, const match::Matches& matches,
                        const std::vector<match::Judgement>& judgements,
                        std::vector<Position>& positions);

/// Two operations of different communicators that are fronts on some ranks, which called them in
/// opposite orders. GPUs may run both at the same time, or wait for each other for ever.
struct OppositeOrder {
  std::size_t one = 0;  // index into Matches::operations
  std::size_t other = 0;
  std::vector<std::uint32_t> one_first;  // files of the ranks that called `one` first
  std::vector<std::uint32_t> other_first;
};

/// Findings from the order in which the ranks made their calls in flight.
struct CallOrder {
  /// For each of Matches::operations, whether it is in a ring of operations, or waits for one: a
  /// rank that has called it is at another operation first, and so on, until one waits for the
  /// first. A communicator runs its calls in their order, so none of them finishes. Empty: none is.
  std::vector<bool> is_in_ring;
  std::optional<OppositeOrder> opposite;
};

/// Looks at sources that show calls only, without sends and receives that may run in communicators
/// of their own.
CallOrder find_call_order(const model::Traces& traces, const match::Matches& matches,
                          const std::vector<Position>& positions);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_HANG_HANG_ORDER_H
