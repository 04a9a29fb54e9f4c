// SPDX-License-Identifier: Apache-2.0
//
// Asks processes through their control sockets, all at once.
#ifndef RINGSIDE_ANALYZER_LIVE_EXCHANGE_H
#define RINGSIDE_ANALYZER_LIVE_EXCHANGE_H

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "live/endpoint.h"

namespace ringside::live {

/// Why there is no answer.
enum class Silence {
  kNone,       ///< there is one
  kDead,       ///< nobody listens any more: the process has died, and left its rings
  kNoSocket,   ///< it has none: switched off, or not there yet, or gone at this moment
  kForbidden,  ///< another user's
  kTimeout,
  kTrouble,  ///< anything else
};

struct Exchange {
  Endpoint endpoint;
  std::string request;                            ///< a line without its end
  std::size_t most_bytes = std::size_t{1} << 20;  ///< of an answer
  Silence silence = Silence::kTimeout;
  std::string answer;  ///< a line without its end
  std::string reason;  ///< of a silence, in words
};

/// Sends each process its request and takes its reply. One that has not replied within the time
/// stays kTimeout.
void ask_all(std::vector<Exchange>& exchanges, std::chrono::milliseconds timeout);

}  // namespace ringside::live

#endif  // RINGSIDE_ANALYZER_LIVE_EXCHANGE_H
