// SPDX-License-Identifier: Apache-2.0
//
// Chooses the events to evict where too many are held: the oldest, in portions. A portion makes the
// search cheap for each event, and is so small that the rings do not fill up. Used by one thread.
#ifndef RINGSIDE_PLUGIN_ASSEMBLE_OPERATIONS_EVICTION_H
#define RINGSIDE_PLUGIN_ASSEMBLE_OPERATIONS_EVICTION_H

#include <cstddef>
#include <vector>

#include "plugin/assemble/event.h"
#include "plugin/assemble/operations/operations.h"

namespace ringside::assemble {

class Eviction {
 public:
  explicit Eviction(std::size_t most_events) : most_events_(most_events) {}

  /// A record has come while `held_events` are held. Returns whether a portion must be evicted now.
  bool is_due(std::size_t held_events) {
    // An evicted operation stays known as finished for a while, so a portion may not lower the
    // number of held events at once. Portions without a pause would take longer than the rings have
    // room for. So eviction begins early, with a number of records between two portions.
    const std::size_t early = most_events_ / 9 * 8;
    const bool is_near = held_events > (early + most_events_) / 2;
    const bool is_time = ++records_since_ > most_events_ / (is_near ? 256 : 128);
    return held_events > (is_time ? early : most_events_);
  }
  /// The next portion, the oldest first.
  std::vector<record::EventId> choose(const Events& events, const Operations& operations);

 private:
  const std::size_t most_events_;
  record::EventId searched_until_ = 0;  // events before this one cannot be evicted
  std::size_t records_since_ = 0;       // the records since the last portion
};

}  // namespace ringside::assemble

#endif  // RINGSIDE_PLUGIN_ASSEMBLE_OPERATIONS_EVICTION_H
