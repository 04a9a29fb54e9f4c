// SPDX-License-Identifier: Apache-2.0
//
// Traffic through the proxy of another process (PXN): whose it is. Its rows name no operation and
// no communicator, only the process that asked for it.
#ifndef RINGSIDE_ANALYZER_METRICS_NETWORK_FOREIGN_TRANSFERS_H
#define RINGSIDE_ANALYZER_METRICS_NETWORK_FOREIGN_TRANSFERS_H

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "analyzer/match/communicators/communicators.h"
#include "analyzer/match/communicators/runs.h"
#include "analyzer/model/trace.h"

namespace ringside::metrics {

/// A rank of a communicator.
struct Place {
  std::uint32_t communicator = 0;
  std::uint32_t member = 0;

  auto operator<=>(const Place&) const = default;
};

class ForeignTransfers {
 public:
  ForeignTransfers(const model::Traces& traces, const match::Runs& runs,
                   const std::vector<match::Communicator>& communicators);

  /// The rank for which `file` moved it. Nothing if it may be of several: if the process has no
  /// trace, or has several communicators to which the peer and the proxy's process belong.
  std::optional<Place> place_of(std::uint32_t file, const model::ProxyOperation& proxy) const;
  /// Likewise of a step: the rank of the proxy operations of that channel and peer at that time.
  std::optional<Place> place_of(std::uint32_t file, const model::Step& step) const;

 private:
  // File, channel, peer, sending.
  using Lane = std::tuple<std::uint32_t, std::uint16_t, std::uint32_t, bool>;
  struct Span {
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
    std::optional<Place> place;
  };

  const model::Traces& traces_;
  std::vector<std::vector<Place>> places_of_file_;
  std::vector<std::vector<std::uint32_t>> communicators_of_file_;  // ascending
  std::vector<std::uint32_t> nranks_;                              // of each communicator
  // Run, host, pid.
  std::map<std::tuple<std::uint32_t, std::string, std::int64_t>, std::uint32_t> file_of_process_;
  std::vector<std::uint32_t> run_of_file_;
  std::map<Lane, std::vector<Span>> spans_;  // by start
};

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_NETWORK_FOREIGN_TRANSFERS_H
