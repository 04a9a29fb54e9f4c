// SPDX-License-Identifier: Apache-2.0
//
// Finds the process that holds a ring directory. The plugin locks the journal in it, and the kernel
// drops the lock when the process ends, however it ends.
#ifndef RINGSIDE_ANALYZER_LAUNCH_RING_HOLDER_H
#define RINGSIDE_ANALYZER_LAUNCH_RING_HOLDER_H

#include <cstdint>
#include <string>
#include <sys/types.h>

namespace ringside::launch {

struct RingHolder {
  enum class State : std::uint8_t { kLives, kDead, kNotKnown };
  State state = State::kNotKnown;
  pid_t pid = 0;  ///< of one that lives; 0: it is in a PID namespace that is not seen from here
};

/// kNotKnown if there is no journal, or if it cannot be opened.
RingHolder holder_of(const std::string& ring_directory);

}  // namespace ringside::launch

#endif  // RINGSIDE_ANALYZER_LAUNCH_RING_HOLDER_H
