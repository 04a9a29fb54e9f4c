// SPDX-License-Identifier: Apache-2.0
#include "live/watch/watcher.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "analyzer/report/document/numbers.h"
#include "launch/text.h"

namespace ringside::live {
namespace {

constexpr double kNsPerSecond = 1e9;
constexpr unsigned kLooksOfSilence = 2;

std::string name_of_communicator(const LiveCommunicator& communicator) {
  return launch::printable(!communicator.name.empty() ? communicator.name
                           : !communicator.comm.empty()
                               ? communicator.comm
                               : "context " + std::to_string(communicator.context));
}

// "rank 2", "ranks 2 and 5", "ranks 2, 5 and 3 more"
std::string ranks_text(const std::vector<std::int64_t>& ranks) {
  constexpr std::size_t kMost = 4;
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  const std::size_t shown = ranks.size() <= kMost ? ranks.size() : kMost;
  for (std::size_t i = 0; i < shown; ++i) {
    const bool is_last = i + 1 == shown && shown == ranks.size();
    text += (i == 0 ? "" : is_last ? " and " : ", ") + std::to_string(ranks[i]);
  }
  return shown == ranks.size() ? text
                               : text + " and " + std::to_string(ranks.size() - shown) + " more";
}

std::string hosts_text(const std::vector<std::string>& hosts) {
  return hosts.empty()       ? ""
         : hosts.size() == 1 ? " (" + launch::printable(hosts.front()) + ")"
                             : " (on " + report::counted(hosts.size(), "host") + ")";
}

// One of a communicator's ranks that has done operations in which each waits for all.
struct RankTime {
  std::int64_t rank = 0;
  std::string host;
  std::uint64_t operations = 0;
  double mean_ns = 0;  // of an operation
};

struct Late {
  std::size_t ranks = 0;  // the first so many of those that are sorted
  double share = 0;       // of all ranks' time, that the others wait for them at least
};

// An operation ends for all at about the same time, so whoever spends less in it has come later.
// The first k ranks are late by at least the gap to the next, and all behind it wait that long. The
// k that costs most is taken. More than half of the ranks are not late: the others are early.
Late find_late_ranks(const std::vector<RankTime>& sorted, double window_s) {
  std::uint64_t operations = sorted.front().operations;
  for (const RankTime& one : sorted) {
    operations = std::min(operations, one.operations);
  }
  Late most;
  const auto count = static_cast<double>(sorted.size());
  for (std::size_t k = 1; k <= sorted.size() / 2; ++k) {
    const double gap_ns = sorted[k].mean_ns - sorted[k - 1].mean_ns;
    const double share = gap_ns * static_cast<double>(operations) *
                         static_cast<double>(sorted.size() - k) / (count * window_s * kNsPerSecond);
    if (share > most.share) {
      most = {k, share};
    }
  }
  return most;
}

}  // namespace

const char* name_of(WatchFinding::Kind kind) {
  constexpr std::array kNames = {"stuck", "verdict", "late", "died", "silent", "start_up"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::vector<WatchFinding> Watcher::look(const Chosen& chosen, const LiveProcesses& processes,
                                        Clock::time_point now) {
  Communicators communicators;
  for (const auto& [place, process] : processes) {
    if (!process.sample || !process.reply.status) {
      continue;
    }
    const ProcessStatus& status = *process.reply.status;
    for (const LiveCommunicator& one : process.sample->communicators) {
      if (!one.comm.empty() && one.rank) {
        communicators[{status.directory + '\n' + status.job, one.comm}].push_back({&process, &one});
      }
    }
  }
  std::vector<WatchFinding> found;
  find_gone(chosen, processes, found);
  find_stuck(communicators, found);
  find_late(communicators, now, found);
  return found;
}

void Watcher::find_stuck(const Communicators& communicators, std::vector<WatchFinding>& found) {
  std::erase_if(stuck_, [&](const auto& told) { return !communicators.contains(told.first); });
  for (const auto& [key, members] : communicators) {
    WatchFinding finding;
    std::int64_t oldest_ns = 0;
    std::set<std::string> hosts;
    std::set<std::string> idle_hosts;
    for (const Member& member : members) {
      const LiveCommunicator& one = *member.communicator;
      const std::string& host = member.process->reply.status->host;
      const std::int64_t age_ns = one.oldest_age_ns.value_or(0);
      if (one.in_flight_operations == 0) {
        finding.idle_ranks.push_back(*one.rank);
        idle_hosts.insert(host);
      }
      // Hosts are asked one after the other: where one rank is stuck, the others that wait are,
      // too.
      if (static_cast<double>(age_ns) < options_.hang_s / 2 * kNsPerSecond) {
        continue;
      }
      finding.ranks.push_back(*one.rank);
      hosts.insert(host);
      if (age_ns > oldest_ns) {
        oldest_ns = age_ns;
        finding.function = one.oldest_func;
        finding.seq = one.oldest_seq;
      }
    }
    if (static_cast<double>(oldest_ns) < options_.hang_s * kNsPerSecond) {
      finding.ranks.clear();
    }
    if (static_cast<std::int64_t>(members.size()) !=
        members.front().communicator->nranks.value_or(-1)) {
      finding.idle_ranks.clear();
    }
    const ProcessStatus& status = *members.front().process->reply.status;
    finding.job = status.job;
    finding.directory = status.directory;
    finding.communicator = name_of_communicator(*members.front().communicator);
    finding.comm = key.second;
    const auto told = stuck_.find(key);
    if (finding.ranks.empty()) {
      if (told != stuck_.end()) {
        WatchFinding& over = found.emplace_back(std::move(told->second));
        over.ends = true;
        over.sentence = operation_text(over.function, over.seq) + " of communicator " +
                        over.communicator + " has gone on.";
        stuck_.erase(told);
      }
      continue;
    }
    if (told != stuck_.end()) {
      continue;
    }
    std::sort(finding.ranks.begin(), finding.ranks.end());
    finding.hosts.assign(hosts.begin(), hosts.end());
    finding.seconds = static_cast<double>(oldest_ns) / kNsPerSecond;
    finding.sentence = report::capitalised(ranks_text(finding.ranks)) + hosts_text(finding.hosts) +
                       (finding.ranks.size() == 1 ? " has" : " have") + " waited in " +
                       operation_text(finding.function, finding.seq) + " of communicator " +
                       finding.communicator + " for " + report::fixed(*finding.seconds, 1) + " s.";
    if (!finding.idle_ranks.empty()) {
      std::sort(finding.idle_ranks.begin(), finding.idle_ranks.end());
      finding.idle_hosts.assign(idle_hosts.begin(), idle_hosts.end());
      finding.sentence += ' ' + report::capitalised(ranks_text(finding.idle_ranks)) +
                          hosts_text(finding.idle_hosts) +
                          (finding.idle_ranks.size() == 1 ? " has" : " have") +
                          " nothing in flight there.";
    }
    stuck_.emplace(key, finding);
    found.push_back(std::move(finding));
  }
}

void Watcher::find_late(const Communicators& communicators, Clock::time_point now,
                        std::vector<WatchFinding>& found) {
  std::erase_if(lateness_, [&](const auto& one) { return !communicators.contains(one.first); });
  for (const auto& [key, members] : communicators) {
    const auto [place, is_new] = lateness_.try_emplace(key);
    Lateness& lateness = place->second;
    const double window_s = std::chrono::duration<double>(now - lateness.begun).count();
    if (!is_new && window_s < options_.window_s) {
      continue;
    }
    if (!is_new) {
      end_window(members, window_s, lateness, found);
    }
    lateness.begun = now;
    lateness.at_begin.clear();
    for (const Member& member : members) {
      lateness.at_begin[*member.communicator->rank] = {member.communicator->joint_operations,
                                                       member.communicator->joint_ns,
                                                       member.process->sample->time_ns};
    }
  }
}

void Watcher::end_window(const std::vector<Member>& members, double window_s, Lateness& lateness,
                         std::vector<WatchFinding>& found) const {
  std::vector<RankTime> times;
  for (const Member& member : members) {
    const LiveCommunicator& one = *member.communicator;
    const auto begin = lateness.at_begin.find(*one.rank);
    if (begin == lateness.at_begin.end() || one.joint_operations <= begin->second.operations ||
        one.joint_ns < begin->second.ns) {
      continue;
    }
    // On a busy machine an answer comes late, with the operations that were done until then: over
    // the longest of the processes' own times the share is a least one.
    window_s = std::max(
        window_s,
        static_cast<double>(member.process->sample->time_ns - begin->second.at_ns) / kNsPerSecond);
    RankTime& time = times.emplace_back();
    time.rank = *one.rank;
    time.host = member.process->reply.status->host;
    time.operations = one.joint_operations - begin->second.operations;
    time.mean_ns =
        static_cast<double>(one.joint_ns - begin->second.ns) / static_cast<double>(time.operations);
  }
  // Unless all ranks have answered, nothing is said: one that is missing may be the late one.
  const std::int64_t nranks = members.front().communicator->nranks.value_or(0);
  const std::size_t all = std::max({members.size(), lateness.at_begin.size(),
                                    static_cast<std::size_t>(std::max<std::int64_t>(nranks, 2))});
  Late late;
  if (times.size() == all) {
    std::sort(times.begin(), times.end(),
              [](const RankTime& a, const RankTime& b) { return a.mean_ns < b.mean_ns; });
    late = find_late_ranks(times, window_s);
  }
  const double percent = late.share * 100;
  std::set<std::int64_t> suspects;
  if (percent >= options_.late_percent) {
    for (std::size_t i = 0; i < late.ranks; ++i) {
      suspects.insert(times[i].rank);
    }
  }
  WatchFinding finding;
  finding.kind = WatchFinding::Kind::kLate;
  const ProcessStatus& status = *members.front().process->reply.status;
  finding.job = status.job;
  finding.directory = status.directory;
  finding.communicator = name_of_communicator(*members.front().communicator);
  finding.comm = members.front().communicator->comm;
  lateness.told.percent_of_time = percent;
  if (suspects != lateness.suspects) {
    if (lateness.is_told) {
      finding.ends = true;
      finding.ranks.assign(lateness.suspects.begin(), lateness.suspects.end());
      finding.sentence = "The others no longer wait for " + ranks_text(finding.ranks) +
                         " in communicator " + finding.communicator + ".";
      found.push_back(finding);
      finding.ends = false;
    }
    lateness.suspects = suspects;
    lateness.windows = 0;
    lateness.is_told = false;
  }
  if (suspects.empty() || ++lateness.windows < options_.late_windows || lateness.is_told) {
    return;
  }
  lateness.is_told = true;
  finding.ranks.assign(suspects.begin(), suspects.end());
  std::set<std::string> hosts;
  for (std::size_t i = 0; i < late.ranks; ++i) {
    hosts.insert(times[i].host);
  }
  finding.hosts.assign(hosts.begin(), hosts.end());
  finding.percent_of_time = percent;
  finding.sentence = report::capitalised(ranks_text(finding.ranks)) + hosts_text(finding.hosts) +
                     (finding.ranks.size() == 1 ? " is" : " are") + " late in communicator " +
                     finding.communicator + ": in the last " + report::fixed(window_s, 0) +
                     " s the others waited for " + (finding.ranks.size() == 1 ? "it" : "them") +
                     " at least " + report::fixed(percent, 1) + " % of all ranks' time.";
  lateness.told = finding;
  found.push_back(std::move(finding));
}

std::vector<WatchFinding> Watcher::current() const {
  std::vector<WatchFinding> findings;
  for (const auto& [key, finding] : stuck_) {
    findings.push_back(finding);
  }
  for (const auto& [key, lateness] : lateness_) {
    if (lateness.is_told) {
      findings.push_back(lateness.told);
    }
  }
  for (const auto& [place, silent] : silent_) {
    if (silent.looks >= kLooksOfSilence) {
      WatchFinding& finding = findings.emplace_back();
      finding.kind = WatchFinding::Kind::kSilent;
      finding.sentence = silent.name;
      finding.hosts = {silent.host};
    }
  }
  return findings;
}

void Watcher::find_gone(const Chosen& chosen, const LiveProcesses& processes,
                        std::vector<WatchFinding>& found) {
  for (const Reply& reply : chosen.dead) {
    const auto known = known_.find(reply.endpoint.place());
    if (known == known_.end()) {
      continue;  // it was dead before
    }
    const ProcessStatus last = std::move(known->second);
    known_.erase(known);
    // Its job was done: `_exit`, with which Python ends forked processes, leaves the rings, too.
    if (last.communicators == 0) {
      continue;
    }
    WatchFinding& finding = found.emplace_back();
    finding.kind = WatchFinding::Kind::kDied;
    finding.job = last.job;
    finding.directory = last.directory;
    finding.hosts = {last.host};
    std::string who = "Process " + std::to_string(reply.endpoint.pid);
    if (last.rank) {
      finding.ranks = {*last.rank};
      who = "The process of rank " + std::to_string(*last.rank);
    }
    finding.sentence =
        who + hosts_text(finding.hosts) + " has ended without a farewell, and with " +
        report::counted(last.communicators, "open communicator") +
        " when it answered last: it was killed, has crashed, or has called _exit. "
        "`ringside recover " +
        launch::printable(reply.endpoint.path) + "` makes a whole trace of what it left.";
  }
  // Whoever loses a peer often ends at once, too: that one is named first accuses nobody.
  if (found.size() > 1) {
    const std::string unknown = ' ' + report::counted(found.size(), "process", "processes") +
                                " ended between the same two looks, and in which order is unknown.";
    for (WatchFinding& finding : found) {
      finding.sentence += unknown;
    }
  }
  find_silent(processes, found);
}

// One look without an answer may be a machine that is busy.
void Watcher::find_silent(const LiveProcesses& processes, std::vector<WatchFinding>& found) {
  std::map<std::string, Silent> silent;
  const auto tell = [&](const Silent& one, const std::string& what) {
    WatchFinding& finding = found.emplace_back();
    finding.kind = WatchFinding::Kind::kSilent;
    finding.ends = one.looks == 0;
    finding.sentence = report::capitalised(one.name + what) + '.';
    if (!one.host.empty()) {
      finding.hosts = {one.host};
    }
  };
  for (const auto& [place, process] : processes) {
    const Reply& reply = process.reply;
    const auto before = silent_.find(place);
    const unsigned looks_before = before != silent_.end() ? before->second.looks : 0;
    Silent one{
        0, reply.endpoint.host,
        "process " + std::to_string(reply.endpoint.pid) + " (" + launch::printable(place) + ')'};
    if (reply.status) {
      known_[place] = *reply.status;
      if (looks_before >= kLooksOfSilence) {
        tell(one, " answers again");
      }
      continue;
    }
    one.looks = looks_before + 1;
    // The error of a host begins with its name.
    const bool is_host = reply.endpoint.path.empty();
    if (is_host) {
      one.name = "host " + launch::printable(reply.endpoint.host);
    }
    if (one.looks == kLooksOfSilence) {
      const std::string error = launch::printable(reply.error);
      tell(one,
           is_host && error.starts_with(one.name) ? error.substr(one.name.size()) : ' ' + error);
    }
    silent.emplace(place, std::move(one));
  }
  // A host that answers again is there with its processes.
  for (auto& [place, one] : silent_) {
    if (one.looks >= kLooksOfSilence && !processes.contains(place) &&
        one.name.starts_with("host ")) {
      one.looks = 0;
      tell(one, " answers again");
    }
  }
  silent_ = std::move(silent);
}

}  // namespace ringside::live
