// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/live/watch_takers.h"

#include <chrono>
#include <fstream>

#include "analyzer/cli/launch.h"
#include "launch/text.h"

namespace ringside::cli {
live::HostCommand post_command(const std::string& url, const std::string& headers,
                               std::string& error) {
  live::HostCommand command;
  // The URL is an argument that no shell reads.
  command.words = {"curl",          "--silent",
                   "--show-error",  "--fail",
                   "--max-time",    "10",
                   "--proto",       "=http,https",
                   "--output",      "/dev/null",
                   "--data-binary", "@-",
                   "--header",      "Content-Type: application/json"};
  if (!headers.empty()) {
    command.secret = headers;
    command.words.insert(command.words.end(), {"--header", "@/dev/fd/3"});
  }
  command.words.insert(command.words.end(), {"--url", url});
  if (!url.starts_with("http://") && !url.starts_with("https://")) {
    error = launch::printable(url) + " is not http:// or https://";
  } else if (!is_in_path("curl")) {
    error = "it needs the program curl, which is not in PATH";
  }
  return command;
}

std::string webhook_header(const std::string& header_file, std::string& error) {
  const char* const variable = get_variable("RINGSIDE_WEBHOOK_HEADER");
  std::string header = variable != nullptr ? variable : "";
  if (!header_file.empty()) {
    std::ifstream file(header_file);
    header.clear();
    std::getline(file, header);
    header.erase(header.find_last_not_of(" \r") + 1);
    if (header.empty()) {
      error = launch::printable(header_file) + " has no header, or cannot be read";
      return {};
    }
  }
  if (!header.empty() && header.find(':') == std::string::npos) {
    error = "the header in " +
            (header_file.empty() ? "RINGSIDE_WEBHOOK_HEADER" : launch::printable(header_file)) +
            " is not of the form NAME: VALUE";
  }
  return header;
}

std::vector<live::FindingTaker> takers_of(const TakerOptions& options, std::string& error) {
  std::vector<live::FindingTaker> takers;
  if (!options.command.empty()) {
    live::FindingTaker& taker = takers.emplace_back();
    taker.name = "--command";
    taker.command.command = options.command;
  }
  if (!options.webhook.empty()) {
    const std::string header = webhook_header(options.header_file, error);
    constexpr std::chrono::milliseconds kTimeout(15000);
    live::FindingTaker& taker = takers.emplace_back();
    taker.name = "--webhook: curl";
    taker.timeout = kTimeout;
    taker.command = post_command(options.webhook, header.empty() ? "" : header + '\n', error);
  }
  return takers;
}

}  // namespace ringside::cli
