// SPDX-License-Identifier: Apache-2.0
//
// Chooses the processes that a command means, of those that reply.
#ifndef RINGSIDE_ANALYZER_LIVE_CHOOSE_H
#define RINGSIDE_ANALYZER_LIVE_CHOOSE_H

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "live/hosts/hosts.h"
#include "live/process_status.h"

namespace ringside::live {

struct Choice {
  std::string ring_directory;  ///< "none": such processes have none
  std::string control_parent;  ///< has the sockets of processes without one; empty: is not asked
  std::vector<std::int64_t> pids;
  std::string directory;  ///< of the traces; empty: any
  std::string job;        ///< empty: any
  /// A scheduler's number: without any choice, if processes are of the job of this name, only they
  /// are meant, since another job may share their hosts.
  std::string likely_job;
  bool all = false;
  bool may_be_of_several_jobs = false;  ///< the command changes nothing
  std::optional<Hosts> hosts;           ///< whose processes are asked; nothing: this one's

  /// The directories in which the processes have their sockets; none: each host knows its own.
  std::vector<std::string> parents() const;
};

struct Chosen {
  enum class How { kFound, kNobody, kAmbiguous };
  How how = How::kNobody;
  std::vector<Reply> replies;      ///< of the chosen, sorted; also those that failed
  std::vector<Reply> dead;         ///< processes that have died and left their rings, of any run
  std::vector<std::string> notes;  ///< for people: processes passed over, options to give instead
};

/// Asks all processes of this user for their status, and with pids those of others too; `verb` may
/// be another that changes nothing. Without any choice the processes must be of one job in one
/// directory, unless they may be of several.
Chosen choose(const Choice& choice, std::chrono::milliseconds timeout,
              std::string_view verb = "status");

/// By directory, job, rank, host and process; those without a status last.
void sort_replies(std::vector<Reply>& replies);

/// Sends chosen processes a request each, on whatever host they are.
void ask_chosen(const Choice& choice, std::vector<Exchange>& exchanges,
                std::chrono::milliseconds timeout);

}  // namespace ringside::live

#endif  // RINGSIDE_ANALYZER_LIVE_CHOOSE_H
