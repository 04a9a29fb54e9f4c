// SPDX-License-Identifier: Apache-2.0
//
// Moments by the wall clock, as --at takes them.
#ifndef RINGSIDE_ANALYZER_LIVE_MOMENT_H
#define RINGSIDE_ANALYZER_LIVE_MOMENT_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ringside::live {

/// Nanoseconds since the epoch of
///   +SECONDS                          from now on, fractions allowed
///   HH:MM:SS[.FRACTION][Z]            the next such time, within twelve hours; Z: UTC, else local
///   YYYY-MM-DDTHH:MM:SS[.FRACTION]ZONE   RFC 3339; ZONE is Z, +HH:MM or -HH:MM
/// Nothing, and what is wrong in `error`, for anything else and for what is not after `now_ns` or
/// is more than 30 days after it.
std::optional<std::int64_t> parse_moment(std::string_view text, std::int64_t now_ns,
                                         std::string& error);

/// "2026-10-02T12:34:56.500Z"
std::string moment_text(std::int64_t moment_ns);

}  // namespace ringside::live

#endif  // RINGSIDE_ANALYZER_LIVE_MOMENT_H
