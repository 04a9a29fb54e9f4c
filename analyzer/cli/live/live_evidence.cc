// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/live/live_evidence.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include "analyzer/load/imports/ras.h"
#include "analyzer/metrics/machine/topology.h"
#include "analyzer/model/joined.h"
#include "analyzer/report/document/numbers.h"
#include "analyzer/report/ras_report.h"
#include "analyzer/report/topology_report.h"
#include "live/hosts/evidence.h"
#include "live/hosts/relay.h"
#include "live/hosts/stack_samples.h"

namespace ringside::cli {
namespace {

constexpr std::size_t kMostEvidenceHosts = 4;
constexpr std::size_t kMostEvidenceLines = 20;  // of a source
constexpr std::chrono::milliseconds kEvidenceTimeout(3000);

void add_lines(const std::string& source, const std::string& host,
               const std::vector<std::string>& lines, std::vector<live::WatchEvidence>& evidence) {
  for (std::size_t i = 0; i < lines.size() && i < kMostEvidenceLines; ++i) {
    evidence.push_back({source, host, lines[i]});
  }
  if (lines.size() > kMostEvidenceLines) {
    evidence.push_back(
        {source, host, "and " + report::counted(lines.size() - kMostEvidenceLines, "more line")});
  }
}

// Returns the findings of RAS.
std::vector<std::string> lines_of_ras(const std::string& text) {
  model::Ras ras;
  if (const std::string trouble = load::read_ras(text, ras); !trouble.empty()) {
    return {"its answer cannot be read: " + trouble};
  }
  std::vector<std::string> lines;
  for (report::Finding& finding : report::ras_document(ras).findings) {
    lines.push_back(std::move(finding.text));
  }
  return lines.empty() ? std::vector<std::string>{"it reports nothing wrong"} : lines;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(line);
  }
  return lines;
}

}  // namespace

std::vector<live::WatchEvidence> evidence_of_hosts(const live::Choice& choice,
                                                   const std::vector<std::string>& hosts) {
  std::vector<std::string> asked = hosts;
  if (!choice.hosts) {
    asked = {""};
  }
  asked.resize(std::min(asked.size(), kMostEvidenceHosts));
  std::vector<live::WatchEvidence> evidence;
  bool has_ras = false;
  std::vector<std::vector<live::Evidence>> all;
  if (choice.hosts) {
    all = live::evidence_on(*choice.hosts, asked, kEvidenceTimeout);
  } else {
    all.push_back(live::evidence_here(kEvidenceTimeout));
  }
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const std::string& host = asked[i];
    for (const live::Evidence& one : all[i]) {
      const bool is_ras = one.source == "ras";
      if (!one.reason.empty()) {
        if (!is_ras) {
          evidence.push_back({one.source, host, one.reason});
        }
      } else if (!is_ras) {
        add_lines(one.source, host, lines_of(one.text), evidence);
      } else if (!std::exchange(has_ras, true)) {
        add_lines(one.source, host, lines_of_ras(one.text), evidence);
      }
    }
  }
  if (hosts.size() > asked.size()) {
    evidence.push_back(
        {"host", "",
         report::counted(hosts.size() - asked.size(), "more host") + " not asked for evidence"});
  }
  return evidence;
}

namespace {

// Returns the sentence on which ranks without a communicator wait for no other, by their stacks.
std::string who_does_not_wait(const StacksToTake& stacks,
                              const std::vector<live::WatchEvidence>& evidence) {
  constexpr std::array<std::string_view, 5> kWaits = {"nccl", "bootstrap", "rendezvous",
                                                      "distributed_c10d", "c10d::"};
  constexpr std::size_t kMostNamed = 4;
  std::vector<std::string> elsewhere;
  std::size_t waiting = 0;
  for (const auto& of_host : stacks.processes) {
    for (const StacksToTake::Process& process : of_host.second) {
      const auto line = std::find_if(evidence.begin(), evidence.end(), [&](const auto& one) {
        return one.host == of_host.first && one.text.starts_with(process.subject + " was in ");
      });
      if (line == evidence.end()) {
        continue;
      }
      if (std::any_of(kWaits.begin(), kWaits.end(), [&](std::string_view word) {
            return line->text.find(word) != std::string::npos;
          })) {
        ++waiting;
      } else {
        elsewhere.push_back(process.subject);
      }
    }
  }
  if (elsewhere.empty() || waiting == 0) {
    return "The stacks do not say for whom the others wait: it may be any of these ranks, or one "
           "that is not seen";
  }
  return model::joined(elsewhere, kMostNamed) + (elsewhere.size() == 1 ? " is" : " are") +
         " in no call of the start-up of NCCL or torch.distributed, in which " +
         report::counted(waiting, "rank waits", "ranks wait");
}

}  // namespace

std::vector<live::WatchEvidence> StacksToTake::take() const {
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> pids;
  for (const auto& [host, of_host] : processes) {
    std::vector<std::int64_t>& numbers = pids.emplace_back(host, 0).second;
    for (const Process& process : of_host) {
      numbers.push_back(process.pid);
    }
  }
  const std::vector<std::vector<live::Evidence>> all = live::stacks_on(hosts, pids);
  std::vector<live::WatchEvidence> evidence;
  std::vector<live::WatchEvidence> of_waiting;
  for (std::size_t host = 0; host < all.size(); ++host) {
    const std::vector<Process>& of_host = processes.at(pids[host].first);
    for (std::size_t i = 0; i < all[host].size(); ++i) {
      const live::Evidence& one = all[host][i];
      const bool is_waiting = i < of_host.size() && of_host[i].is_waiting;
      std::vector<std::string> lines = lines_of(one.reason.empty() ? one.text : one.reason);
      if (i < of_host.size() && !lines.empty()) {
        lines.front().insert(0, of_host[i].subject + ' ');
        // Whoever waits is shown for comparison, and its child processes say nothing.
        lines.resize(is_waiting ? 1 : lines.size());
      }
      add_lines(one.source, pids[host].first, lines, is_waiting ? of_waiting : evidence);
    }
  }
  std::move(of_waiting.begin(), of_waiting.end(), std::back_inserter(evidence));
  // One alone has been named before.
  if (is_start_up && (processes.size() > 1 || processes.begin()->second.size() > 1)) {
    evidence.push_back({"start-up", "", who_does_not_wait(*this, evidence)});
  }
  return evidence;
}

void StacksToTake::add(const live::Reply& reply, bool is_waiting) {
  const std::string name = "process " + std::to_string(reply.status->pid);
  const auto rank = reply.status->rank;
  processes[reply.endpoint.host].push_back(
      {reply.status->pid,
       (rank ? "Rank " + std::to_string(*rank).append(" (").append(name).append(")") : name) +
           (is_waiting ? ", which waits," : ""),
       is_waiting});
}

StacksToTake stacks_to_take(const live::Choice& choice, const std::vector<live::Reply>& replies,
                            const model::Traces& traces, const HangAnswer& answer) {
  StacksToTake stacks{choice.hosts ? *choice.hosts : live::this_host(), {}, false};
  const auto add = [&](std::uint32_t file, bool is_waiting) {
    const model::Process& process = traces.files[file].process;
    const auto reply = std::find_if(replies.begin(), replies.end(), [&](const live::Reply& one) {
      return one.status && one.status->pid == process.pid && one.status->host == process.host;
    });
    if (reply != replies.end()) {
      stacks.add(*reply, is_waiting);
    }
  };
  for (const std::uint32_t file : answer.at_fault) {
    add(file, false);
  }
  if (answer.waiting) {
    add(*answer.waiting, true);
  }
  return stacks;
}

StacksToTake stacks_of_late(const live::Choice& choice, const live::WatchFinding& finding,
                            const live::LiveProcesses& processes) {
  StacksToTake stacks{choice.hosts ? *choice.hosts : live::this_host(), {}, false};
  for (const auto& [place, process] : processes) {
    if (!process.sample || !process.reply.status) {
      continue;
    }
    for (const live::LiveCommunicator& one : process.sample->communicators) {
      if (one.comm == finding.comm && one.rank &&
          std::count(finding.ranks.begin(), finding.ranks.end(), *one.rank) > 0) {
        stacks.add(process.reply, false);
      }
    }
  }
  return stacks;
}

std::vector<live::WatchEvidence> evidence_of_links(const model::Traces& traces) {
  std::vector<std::string> lines;
  const report::Document document =
      report::topology_document(metrics::find_topology(traces), true, std::nullopt);
  for (const report::Finding& finding : document.findings) {
    lines.push_back(finding.text);
  }
  std::vector<live::WatchEvidence> evidence;
  add_lines("links", "", lines, evidence);
  return evidence;
}

}  // namespace ringside::cli
