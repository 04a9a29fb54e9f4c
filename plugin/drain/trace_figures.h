// SPDX-License-Identifier: Apache-2.0
//
// Figures of the trace that any thread may read while the drain thread writes them.
#ifndef RINGSIDE_PLUGIN_DRAIN_TRACE_FIGURES_H
#define RINGSIDE_PLUGIN_DRAIN_TRACE_FIGURES_H

#include <atomic>
#include <cstdint>

namespace ringside::drain {

/// Each figure is independent of the others, but a thread that sees has_file must find the file.
struct TraceFigures {
  std::atomic<bool> has_file{false};
  std::atomic<bool> trouble{false};
  std::atomic<int> last_error{0};
  std::atomic<std::uint64_t> operations{0};
  std::atomic<std::uint64_t> bytes_written{0};
  std::atomic<std::uint64_t> bytes_kept{0};  ///< in all existing files of this trace, or in memory
  std::atomic<std::uint64_t> rotated{0};     ///< callbacks in segments that are deleted
  std::atomic<std::uint64_t> given_up{0};    ///< evicted events
  /// Callbacks lost after they left the rings: a file not writable, or out of memory.
  std::atomic<std::uint64_t> lost{0};
  std::atomic<std::uint64_t> settled{0};  ///< callbacks that are in the files, or counted as lost

  /// A file could not be made or written.
  void fail(int error) {
    last_error.store(error, std::memory_order_relaxed);
    trouble.store(true, std::memory_order_relaxed);
  }
};

}  // namespace ringside::drain

#endif  // RINGSIDE_PLUGIN_DRAIN_TRACE_FIGURES_H
