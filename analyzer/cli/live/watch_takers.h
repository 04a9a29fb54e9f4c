// SPDX-License-Identifier: Apache-2.0
//
// Programs that get the findings of `ringside watch`: a command, and curl for a webhook.
#ifndef RINGSIDE_ANALYZER_CLI_LIVE_WATCH_TAKERS_H
#define RINGSIDE_ANALYZER_CLI_LIVE_WATCH_TAKERS_H

#include <string>
#include <vector>

#include "live/metrics/finding_outlet.h"

namespace ringside::cli {

struct TakerOptions {
  std::string command;      ///< for a shell
  std::string webhook;      ///< a URL
  std::string header_file;  ///< empty: RINGSIDE_WEBHOOK_HEADER
};

/// Returns the command that posts its input, which is JSON, with these header lines. `error` says
/// why it cannot.
live::HostCommand post_command(const std::string& url, const std::string& headers,
                               std::string& error);

/// Returns the line of the webhook's header, from the file, or without one from the environment: an
/// argument would be in `ps`. `error` says what is wrong with it.
std::string webhook_header(const std::string& header_file, std::string& error);

/// Returns the programs that the options name. `error` says what is wrong with the options.
std::vector<live::FindingTaker> takers_of(const TakerOptions& options, std::string& error);

}  // namespace ringside::cli

#endif  // RINGSIDE_ANALYZER_CLI_LIVE_WATCH_TAKERS_H
