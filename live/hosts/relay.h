// SPDX-License-Identifier: Apache-2.0
//
// Asks the processes of other hosts: there `ringside ctl relay` asks them, and answers one line.
#ifndef RINGSIDE_LIVE_HOSTS_RELAY_H
#define RINGSIDE_LIVE_HOSTS_RELAY_H

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "live/exchange.h"
#include "live/hosts/evidence.h"
#include "live/hosts/hosts.h"
#include "live/hosts/starting.h"

namespace ringside::live {

/// Which processes of a host are asked.
struct Search {
  std::vector<std::string>
      parents;                     ///< of their ring directories; none: as a host has it by itself
  std::vector<std::int64_t> pids;  ///< empty: all of this user
};

/// Asks all these processes of this host. `notes` gets what cannot be read.
std::vector<Exchange> ask_here(const Search& search, const std::string& request,
                               std::chrono::milliseconds timeout, std::vector<std::string>& notes);

/// The same on all hosts at once; the processes have `timeout`, the hosts their own. A host that
/// does not answer is an exchange without a path, whose reason says why.
std::vector<Exchange> ask_hosts(const Hosts& hosts, const Search& search,
                                const std::string& request, std::chrono::milliseconds timeout,
                                std::vector<std::string>& notes);

/// As ask_all, with processes of these hosts.
void ask_all_on_hosts(const Hosts& hosts, std::vector<Exchange>& exchanges,
                      std::chrono::milliseconds timeout);

struct HostFile {
  std::string host;
  std::string path;
  uid_t owner = Endpoint::kNobodyKnown;  ///< the user of the process that has written it
};

/// Reads dumps on these hosts, of 200 MiB at most each. `take` gets of each its index, its bytes,
/// and why there are none.
void read_on_hosts(
    const Hosts& hosts, const std::vector<HostFile>& files,
    const std::function<void(std::size_t, const std::string&, const std::string&)>& take);

/// The lines of other programs on each of `names` about its trouble, of all at the same time; a
/// reason in the place of all, if the host does not say.
std::vector<std::vector<Evidence>> evidence_on(const Hosts& hosts,
                                               const std::vector<std::string>& names,
                                               std::chrono::milliseconds timeout);

/// The ranks of these hosts that have made no communicator. A host that does not answer has none.
std::vector<StartingRank> starting_on(const Hosts& hosts);

/// What sample_stacks() says of these processes of each host, of all hosts at the same time.
std::vector<std::vector<Evidence>> stacks_on(
    const Hosts& hosts,
    const std::vector<std::pair<std::string, std::vector<std::int64_t>>>& pids_of_hosts);

/// The answer of `ringside ctl relay` to what it reads from standard input; nothing if that is not
/// from one of these functions. `parents`: this host's own.
std::string relay(std::string_view input, const std::vector<std::string>& parents);

}  // namespace ringside::live

#endif  // RINGSIDE_LIVE_HOSTS_RELAY_H
