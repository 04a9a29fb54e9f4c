// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/network/link_trouble.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "analyzer/metrics/machine/near_ports.h"

namespace ringside::metrics {
namespace {

// A rank at one end of a link.
struct End {
  const model::TraceFile* file = nullptr;
  const topology::Gpu* gpu = nullptr;
  std::string host;
};

std::optional<End> end_of(const model::Traces& traces, const match::Communicator& communicator,
                          std::optional<std::uint32_t> rank) {
  const auto member =
      std::find_if(communicator.members.begin(), communicator.members.end(),
                   [&](const match::Member& one) { return one.rank && one.rank == rank; });
  if (member == communicator.members.end()) {
    return std::nullopt;
  }
  const model::TraceFile& file = traces.files[member->file];
  const topology::Gpu* const gpu = gpu_of(file, member->context);
  return gpu == nullptr ? std::nullopt : std::optional(End{&file, gpu, host_of(file.process)});
}

}  // namespace

LinkTroubles::LinkTroubles(const model::Traces& traces, const Network& network)
    : traces_(traces), network_(network), topology_(find_topology(traces)) {}

LinkTrouble LinkTroubles::of(const Link& link) const {
  const match::Communicator& communicator = network_.communicators[link.communicator];
  const auto sender = end_of(traces_, communicator, link.rank);
  const auto receiver = end_of(traces_, communicator, link.peer);
  if (!sender || !receiver) {
    return {};
  }
  LinkTrouble trouble;
  trouble.are_counters_known = sender->host != receiver->host;
  std::vector<std::pair<std::string, std::string>> things;  // host and thing
  for (const End* const end : {&*sender, &*receiver}) {
    things.emplace_back(end->host, end->gpu->pci);
    if (sender->host == receiver->host) {
      continue;
    }
    const auto ports = near_ports(*end->file, *end->gpu);
    for (const topology::Port* const port : ports.value_or(std::vector<const topology::Port*>())) {
      things.emplace_back(end->host, port_name(*port));
    }
    const auto host = std::find_if(topology_.hosts.begin(), topology_.hosts.end(),
                                   [&](const HostMachine& one) { return one.host == end->host; });
    trouble.are_counters_known = trouble.are_counters_known && ports &&
                                 host != topology_.hosts.end() && host->first != host->last;
  }
  for (const TopologyFinding& finding : topology_.findings) {
    const bool is_here =
        !finding.is_note && std::find(things.begin(), things.end(),
                                      std::pair(finding.host, finding.thing)) != things.end();
    if (is_here) {
      trouble.texts.push_back(finding.text);
    }
  }
  return trouble;
}

}  // namespace ringside::metrics
