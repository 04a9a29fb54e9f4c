// SPDX-License-Identifier: Apache-2.0
//
// The machine's counters near a network link: the adapters near the GPUs of both its ends,
// or the NVLinks and PCIe of these GPUs.
#ifndef RINGSIDE_ANALYZER_METRICS_NETWORK_LINK_TROUBLE_H
#define RINGSIDE_ANALYZER_METRICS_NETWORK_LINK_TROUBLE_H

#include <string>
#include <vector>

#include "analyzer/metrics/machine/topology.h"
#include "analyzer/metrics/network/network.h"

namespace ringside::metrics {

struct LinkTrouble {
  /// The troubles near the link, as TopologyFinding::text, each once.
  std::vector<std::string> texts;
  /// The ports that were looked at, and their counters were read at two times: if `texts` has
  /// nothing of them, they did not grow.
  bool are_counters_known = false;
};

class LinkTroubles {
 public:
  LinkTroubles(const model::Traces& traces, const Network& network);

  /// Between hosts: of the ports near both GPUs, and of these GPUs' PCIe. Within a host: of the
  /// GPUs. Nothing is known if a rank, its GPU or the place of the adapters is not known.
  LinkTrouble of(const Link& link) const;

 private:
  const model::Traces& traces_;
  const Network& network_;
  Topology topology_;
};

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_NETWORK_LINK_TROUBLE_H
