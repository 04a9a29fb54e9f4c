// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/live/live_dumps.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "live/hosts/dump_file.h"
#include "live/hosts/relay.h"
#include "live/request.h"

namespace ringside::cli {
namespace {

std::string line_of(const live::Endpoint& endpoint, const std::string& trouble) {
  return "process " + std::to_string(endpoint.pid) + " (" + endpoint.place() + "): " + trouble;
}

// A new directory for copies; empty, and why in `trouble`, if there is none.
std::string make_temporary(std::string& trouble) {
  std::error_code error;
  const auto parent = std::filesystem::temp_directory_path(error);
  std::string path = (error ? std::filesystem::path("/tmp") : parent) / "ringside-dumps-XXXXXX";
  if (mkdtemp(path.data()) == nullptr) {
    trouble = path + ": " + std::strerror(errno);
    return {};
  }
  return path;
}

}  // namespace

LiveDumps::~LiveDumps() {
  for (const int dump : opened_) {
    close(dump);
  }
  if (!copies_.empty()) {
    std::error_code error;
    std::filesystem::remove_all(copies_, error);
  }
}

// Another user might put something else at the path before it is read: then what was opened is
// read.
void LiveDumps::add_file(const std::string& path, const live::Endpoint& process) {
  std::string reason;
  const int dump = live::open_dump(path, process.uid, reason);
  if (dump < 0) {
    ++missing_;
    troubles_.push_back(line_of(process, path + " cannot be read: " + reason));
    return;
  }
  opened_.push_back(dump);
  paths_.push_back(path);
  files_.push_back(process.is_own() ? path : "/proc/self/fd/" + std::to_string(dump));
}

void LiveDumps::take(const live::Choice& choice, const std::vector<live::Endpoint>& processes,
                     std::chrono::milliseconds timeout) {
  std::vector<live::Exchange> exchanges;
  for (const live::Endpoint& endpoint : processes) {
    live::Exchange& exchange = exchanges.emplace_back();
    exchange.endpoint = endpoint;
    exchange.request = live::Request("dump").line();
  }
  live::ask_chosen(choice, exchanges, timeout);
  std::vector<live::HostFile> elsewhere;
  std::vector<live::Endpoint> of;  // the process of each
  for (const live::Exchange& exchange : exchanges) {
    const live::Reply reply = live::read_reply(exchange);
    const std::string path = reply.status ? reply.status->dump_path : "";
    std::error_code error;
    if (path.empty()) {
      ++missing_;
      troubles_.push_back(
          line_of(reply.endpoint, reply.error.empty() ? "has written no dump" : reply.error));
      continue;
    }
    if (std::filesystem::exists(path, error)) {
      add_file(path, reply.endpoint);
      continue;
    }
    paths_.push_back(path);
    if (choice.hosts) {
      elsewhere.push_back({reply.endpoint.host, path, reply.endpoint.uid});
      of.push_back(reply.endpoint);
    } else {
      troubles_.push_back(line_of(reply.endpoint, path + " is not to be seen here"));
    }
  }
  if (elsewhere.empty()) {
    return;
  }
  std::string trouble;
  copies_ = make_temporary(trouble);
  live::read_on_hosts(
      *choice.hosts, elsewhere, [&](std::size_t i, const std::string& bytes, std::string reason) {
        const std::filesystem::path name = std::filesystem::path(elsewhere[i].path).filename();
        const std::string copy = (std::filesystem::path(copies_) / name).string();
        reason = trouble.empty() ? reason : trouble;
        if (reason.empty() && !(std::ofstream(copy, std::ios::binary) << bytes).flush()) {
          reason = copy + " cannot be written";
        }
        if (reason.empty()) {
          files_.push_back(copy);
        } else {
          troubles_.push_back(line_of(of[i], elsewhere[i].path + " cannot be read: " + reason));
        }
      });
}

}  // namespace ringside::cli
