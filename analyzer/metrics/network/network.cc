// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/network/network.h"

#include <algorithm>
#include <utility>

#include "analyzer/match/communicators/runs.h"
#include "analyzer/metrics/network/link_finder.h"

namespace ringside::metrics {

bool has_steps(const model::Traces& traces) {
  return std::any_of(traces.files.begin(), traces.files.end(),
                     [](const model::TraceFile& file) { return file.steps.size() > 0; });
}

Network find_network(const model::Traces& traces, const align::Alignment& alignment) {
  const match::Runs runs = match::find_runs(traces);
  std::vector<match::Communicator> communicators = match::find_communicators(traces, runs);
  LinkFinder finder(traces, alignment, runs, communicators);
  FoundLinks found = finder.find();
  Network network;
  static_cast<TransferCounts&>(network) = found.counts;
  network.communicators = std::move(communicators);
  network.pairs = std::move(found.pairs);
  network.has_steps = has_steps(traces);
  network.links.reserve(found.links.size());
  std::vector<RatedLink> rated;
  for (const auto& [link, rates] : found.links) {
    for (RatedLink one : rates) {
      one.link = network.links.size();
      rated.push_back(one);
    }
    network.links.push_back(link);
  }
  JudgedLinks judged = judge_links(std::move(rated));
  for (const SlowLink& one : judged.slow) {
    network.links[one.link].slow = one.slow;
  }
  network.judged = static_cast<std::uint32_t>(judged.judged);
  network.classes = std::move(judged.classes);
  return network;
}

}  // namespace ringside::metrics
