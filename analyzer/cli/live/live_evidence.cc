// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/live/live_evidence.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <sstream>
#include <utility>

#include "analyzer/load/imports/ras.h"
#include "analyzer/metrics/machine/topology.h"
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
  for (const std::string& host : asked) {
    const std::vector<live::Evidence> all =
        choice.hosts ? live::evidence_on(*choice.hosts, host, kEvidenceTimeout)
                     : live::evidence_here(kEvidenceTimeout);
    for (const live::Evidence& one : all) {
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

std::vector<live::WatchEvidence> evidence_of_stacks(const live::Choice& choice,
                                                    const std::vector<live::Reply>& replies,
                                                    const model::Traces& traces,
                                                    const std::vector<std::uint32_t>& files) {
  std::vector<std::pair<std::string, std::vector<const live::Reply*>>> of_hosts;  // in their order
  for (const std::uint32_t file : files) {
    const model::Process& process = traces.files[file].process;
    const auto reply = std::find_if(replies.begin(), replies.end(), [&](const live::Reply& one) {
      return one.status && one.status->pid == process.pid && one.status->host == process.host;
    });
    if (reply == replies.end()) {
      continue;
    }
    auto of_host = std::find_if(of_hosts.begin(), of_hosts.end(),
                                [&](const auto& one) { return one.first == reply->endpoint.host; });
    if (of_host == of_hosts.end()) {
      of_host = of_hosts.insert(of_hosts.end(), {reply->endpoint.host, {}});
    }
    of_host->second.push_back(&*reply);
  }
  std::vector<live::WatchEvidence> evidence;
  for (const auto& [host, asked] : of_hosts) {
    std::vector<std::int64_t> pids;
    for (const live::Reply* const reply : asked) {
      pids.push_back(reply->status->pid);
    }
    const std::vector<live::Evidence> all =
        choice.hosts ? live::stacks_on(*choice.hosts, host, pids) : live::sample_stacks(pids);
    for (std::size_t i = 0; i < all.size(); ++i) {
      std::string text = all[i].reason.empty() ? all[i].text : all[i].reason;
      text = text.substr(0, text.find('\n'));
      if (i < asked.size()) {
        const live::ProcessStatus& status = *asked[i]->status;
        std::string subject = "process " + std::to_string(status.pid);
        if (status.rank.has_value()) {
          subject = "Rank " + std::to_string(*status.rank).append(" (").append(subject).append(")");
        }
        text = subject.append(" ").append(text);
      }
      evidence.push_back({all[i].source, host, std::move(text)});
    }
  }
  return evidence;
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
