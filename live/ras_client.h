// SPDX-License-Identifier: Apache-2.0
//
// Asks NCCL's RAS service of a running job what it knows.
#ifndef RINGSIDE_ANALYZER_LIVE_RAS_CLIENT_H
#define RINGSIDE_ANALYZER_LIVE_RAS_CLIENT_H

#include <chrono>
#include <string>

namespace ringside::live {

struct RasAnswer {
  std::string text;   ///< JSON, or of NCCL before 2.28 text
  std::string error;  ///< why there is none; empty if there is one
};

/// `address`: HOST:PORT or [IPv6]:PORT. All of it ends within `timeout`, but for the look-up of a
/// name, which the resolver bounds.
RasAnswer ask_ras(const std::string& address, std::chrono::milliseconds timeout);

}  // namespace ringside::live

#endif  // RINGSIDE_ANALYZER_LIVE_RAS_CLIENT_H
