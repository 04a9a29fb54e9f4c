// SPDX-License-Identifier: Apache-2.0
//
// Finds the operations in flight among the open events only.
#ifndef RINGSIDE_PLUGIN_ASSEMBLE_OPERATIONS_IN_FLIGHT_H
#define RINGSIDE_PLUGIN_ASSEMBLE_OPERATIONS_IN_FLIGHT_H

#include <cstdint>
#include <map>
#include <vector>

#include "plugin/assemble/rows.h"

namespace ringside::assemble {

class Operations;
class ThreadSlices;
struct Event;
template <typename Value>
class IdMap;

struct InFlight {
  Operation operation;
  /// When the operation's turn came. This is the first sign of its execution (or the begin of its
  /// call, if there is no such sign and the call has not returned), or the last end of another
  /// operation of its communicator if that was later.
  std::int64_t since_ns = kUnknownTime;
  bool call_returned = true;
};

/// The operations of a communicator that have begun to execute and not ended.
struct InFlightTotal {
  std::uint64_t operations = 0;
  std::uint64_t bytes = 0;  ///< message bytes of the operations whose bytes are known
};

/// See Assembler::in_flight_since and in_flight_totals.
std::vector<InFlight> find_in_flight(std::int64_t until_ns, const Operations& operations,
                                     const IdMap<Event>& events, const ThreadSlices& slices);
std::map<std::uint32_t, InFlightTotal> sum_in_flight(const Operations& operations);

}  // namespace ringside::assemble

#endif  // RINGSIDE_PLUGIN_ASSEMBLE_OPERATIONS_IN_FLIGHT_H
