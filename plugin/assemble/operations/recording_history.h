// SPDX-License-Identifier: Apache-2.0
//
// When recording was on, and for which event types. Operations belong to the window in which they
// begin, and wait for the types of the activation mask that NCCL read. Used by one thread.
#ifndef RINGSIDE_PLUGIN_ASSEMBLE_OPERATIONS_RECORDING_HISTORY_H
#define RINGSIDE_PLUGIN_ASSEMBLE_OPERATIONS_RECORDING_HISTORY_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ringside::assemble {

class RecordingHistory {
 public:
  /// Operations from `start_ns` on belong to this window. Windows must come in the order of time.
  void open_window(std::uint32_t number, std::int64_t start_ns) {
    add(windows_, {start_ns, number});
  }
  /// NCCL is asked for `types` (bits of record::EventType) from `since_ns` on, which must ascend.
  void expect(std::uint32_t types, std::int64_t since_ns) { add(types_, {since_ns, types}); }

  /// The number of the window at this time, or of the first one if it opened later; 0: none.
  std::uint32_t window_at(std::int64_t ts_ns) const { return at(windows_, ts_ns); }
  std::uint32_t types_at(std::int64_t ts_ns) const { return at(types_, ts_ns); }

 private:
  struct Change {
    std::int64_t since_ns;
    std::uint32_t value;
  };
  static void add(std::vector<Change>& changes, Change change) {
    // An event that is older than all changes kept gets the value of the oldest one.
    constexpr std::size_t kMostChanges = 4096;
    if (changes.size() == kMostChanges) {
      changes.erase(changes.begin(), changes.begin() + kMostChanges / 2);
    }
    changes.push_back(change);
  }
  static std::uint32_t at(const std::vector<Change>& changes, std::int64_t ts_ns) {
    const auto found = std::find_if(changes.rbegin(), changes.rend(),
                                    [ts_ns](const Change& of) { return of.since_ns <= ts_ns; });
    return found != changes.rend() ? found->value : changes.empty() ? 0 : changes.front().value;
  }

  std::vector<Change> windows_;
  std::vector<Change> types_;
};

}  // namespace ringside::assemble

#endif  // RINGSIDE_PLUGIN_ASSEMBLE_OPERATIONS_RECORDING_HISTORY_H
