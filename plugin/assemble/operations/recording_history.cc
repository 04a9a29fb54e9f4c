// SPDX-License-Identifier: Apache-2.0
#include "plugin/assemble/operations/recording_history.h"

#include <algorithm>

namespace ringside::assemble {

void RecordingHistory::add(std::vector<Change>& changes, Change change) {
  // An event that is older than all changes kept gets the value of the oldest one.
  constexpr std::size_t kMostChanges = 4096;
  if (changes.size() == kMostChanges) {
    changes.erase(changes.begin(), changes.begin() + kMostChanges / 2);
  }
  changes.push_back(change);
}

std::uint32_t RecordingHistory::at(const std::vector<Change>& changes, std::int64_t ts_ns) {
  const auto found = std::find_if(changes.rbegin(), changes.rend(),
                                  [ts_ns](const Change& of) { return of.since_ns <= ts_ns; });
  return found != changes.rend() ? found->value : changes.empty() ? 0 : changes.front().value;
}

}  // namespace ringside::assemble
