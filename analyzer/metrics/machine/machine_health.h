// SPDX-License-Identifier: Apache-2.0
//
// Compares machines as ranks and hosts have read them, and finds what is wrong with one.
#ifndef RINGSIDE_ANALYZER_METRICS_MACHINE_MACHINE_HEALTH_H
#define RINGSIDE_ANALYZER_METRICS_MACHINE_MACHINE_HEALTH_H

#include <map>
#include <string>
#include <vector>

#include "analyzer/metrics/machine/topology.h"
#include "plugin/topology/machine.h"

namespace ringside::metrics {

/// All that somebody has seen: by a thing and its property, the value as a text.
struct Seen {
  std::string who;  // "rank 3", "host b"
  std::map<std::string, std::string> facts;
};

/// The machine's facts that must be equal for all processes of its host: GPUs by their address.
std::map<std::string, std::string> facts_by_address(const topology::Machine& machine);
/// Those that are equal on hosts of one kind: GPUs by their index.
std::map<std::string, std::string> facts_by_index(const topology::Machine& machine);

/// One text for each fact that is not equal: "NVLinks of GPU 3 that are up: 17 of 18 (not 7) on
/// host b; 18 of 18 on the other 3 hosts". `are_whole`: somebody who lacks a fact differs, too;
/// else it may only be shown less. Those who agree with most others come last.
std::vector<std::string> differences(const std::vector<Seen>& all, const std::string& plural,
                                     bool are_whole);

/// Adds what is wrong with a host's machine: links that are down, counters that grew between the
/// readings, PCIe that trained down, an adapter that is slower than the others.
void find_trouble(const std::string& host, const topology::Machine& first,
                  const topology::Machine& last, std::vector<TopologyFinding>& findings);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_MACHINE_MACHINE_HEALTH_H
