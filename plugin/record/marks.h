// SPDX-License-Identifier: Apache-2.0
//
// The application's marks and ranges, as records of the calling thread's ring. A mark is a start
// without a stop. All functions are the producer's. `now` are ticks.
#ifndef RINGSIDE_PLUGIN_RECORD_MARKS_H
#define RINGSIDE_PLUGIN_RECORD_MARKS_H

#include <cstdint>
#include <string_view>

#include "plugin/record/ring.h"

namespace ringside::record {

/// Records a mark with this text, of at most kMostText_bytes. False: there is no room. The loss is
/// counted.
bool append_mark(Ring& ring, std::string_view text, std::uint64_t now) noexcept;

/// Begins a range of the ring's owner. `source` has kMostText_bytes at most, too. False: there is
/// no room for the range and its end, or too many ranges are open. The loss is counted.
bool open_range(Ring& ring, std::string_view text, std::string_view source,
                std::uint64_t now) noexcept;

/// Ends the innermost open range, if there is one. This always has room.
void close_range(Ring& ring, std::uint64_t now) noexcept;

}  // namespace ringside::record

#endif  // RINGSIDE_PLUGIN_RECORD_MARKS_H
