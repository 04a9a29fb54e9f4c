// SPDX-License-Identifier: Apache-2.0
//
// Writes to a file that the application shares with the plugin, such as standard error, on any
// thread: behind it may be a pipe that is full, or that nobody reads any more.
#ifndef RINGSIDE_PLUGIN_POSIX_WRITE_AT_ONCE_H
#define RINGSIDE_PLUGIN_POSIX_WRITE_AT_ONCE_H

#include <cstddef>
#include <string_view>

namespace ringside::posix {

/// What a pipe takes as a whole or not at all.
inline constexpr std::size_t kMostAtOnce_bytes = 4096;

/// Writes what the file takes at once, of kMostAtOnce_bytes at most. Never waits for a reader, and
/// raises no signal. Does not change how the application writes to the same file. Returns how many
/// bytes were written; 0 if none were.
std::size_t write_at_once(int file, std::string_view bytes) noexcept;

}  // namespace ringside::posix

#endif  // RINGSIDE_PLUGIN_POSIX_WRITE_AT_ONCE_H
