// SPDX-License-Identifier: Apache-2.0
//
// The most busbw that the links of a communicator's ranks allow, as docs/metrics.md states it
// (Percent of peak). It is an upper bound of the hardware, not what NCCL reaches.
#ifndef RINGSIDE_ANALYZER_METRICS_MACHINE_PEAK_H
#define RINGSIDE_ANALYZER_METRICS_MACHINE_PEAK_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/match/matcher.h"
#include "analyzer/metrics/machine/topology.h"
#include "analyzer/model/trace.h"

namespace ringside::metrics {

struct Peak {
  double busbw_gb_s = 0;
  std::string_view bound;  // what binds: "NVLink", "PCIe", "adapters", or "baseline"
};

/// A bandwidth as a part of the peak, in percent; nothing where one of them is not known.
inline std::optional<double> percent_of(std::optional<double> busbw_gb_s,
                                        const std::optional<Peak>& peak) {
  return busbw_gb_s && peak && peak->busbw_gb_s > 0
             ? std::optional(100 * *busbw_gb_s / peak->busbw_gb_s)
             : std::nullopt;
}

/// The links that join the ranks of one communicator. A rate is in GB/s in one direction; what is
/// not known is absent.
struct CommunicatorLinks {
  std::uint32_t nranks = 0;
  std::uint32_t domains = 0;  // NVLink domains that have ranks
  /// The least that any group of ranks of a domain can give to the others of that domain; absent,
  /// too, where each domain has one rank.
  std::optional<double> within_gb_s;
  std::string_view within_bound;  // "NVLink" or "PCIe"
  bool is_within_known = true;    // or there is nothing within
  /// The least of the domains: what one rank can give to the others of its domain, in the mean.
  std::optional<double> mean_gb_s;
  /// Each rank's links are a port to all others: a switch, or PCIe.
  bool is_ported = true;
  bool is_even = true;       // and all ports within a domain have one rate
  bool is_switched = false;  // NVSwitches join the ranks of each domain
  /// The least that the adapters near the ranks of a domain carry together.
  std::optional<double> adapters_gb_s;
  std::optional<std::uint32_t> ranks_per_domain;  // where all have the same number
};

/// The bound for a function and an algorithm, as NCCL names it (RING). Nothing where the model says
/// nothing: another algorithm, or a part that is not known.
std::optional<Peak> peak_of(const CommunicatorLinks& links, std::string_view function,
                            std::string_view algorithm);

/// Whether any trace has a reading of the machine: without one there is no peak.
bool has_machines(const model::Traces& traces);

/// The data that PCIe carries in one direction, in GB/s.
std::optional<double> pcie_gb_s(std::uint32_t generation, std::uint32_t lanes);

/// The links that join the ranks of each communicator, in the order of Matches::communicators.
/// Nothing where a rank or its GPU is not known.
std::vector<std::optional<CommunicatorLinks>> find_links(const model::Traces& traces,
                                                         const match::Matches& matches);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_MACHINE_PEAK_H
