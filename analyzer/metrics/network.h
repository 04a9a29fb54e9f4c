// SPDX-License-Identifier: Apache-2.0
//
// How fast each rank's network transfers were, by peer, channel and direction, and what they waited
// for. docs/metrics.md defines the figures.
#ifndef RINGSIDE_ANALYZER_METRICS_NETWORK_H
#define RINGSIDE_ANALYZER_METRICS_NETWORK_H

#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/match/communicators.h"
#include "analyzer/model/trace.h"

namespace ringside::metrics {

/// Why a link is said to be slow, against links of the same communicator, direction and size of
/// the steps.
struct Slow {
  std::uint64_t class_bytes = 0;  // steps of this size, up to twice as much
  std::uint64_t steps = 0;
  std::uint32_t siblings = 0;  // links that it was compared with, itself among them
  double own_gb_s = 0;         // median over its steps
  double usual_gb_s = 0;       // median over the siblings' medians
  double factor = 0;           // usual / own
  double deviations = 0;       // by how many standard deviations of the siblings it is below
};

struct Link {
  std::uint32_t communicator = 0;  // index into Network::communicators
  std::uint32_t file = 0;
  std::optional<std::uint32_t> rank;
  std::optional<std::uint32_t> peer;
  std::uint16_t channel = 0;
  bool is_send = false;
  std::uint64_t transfers = 0;  // steps; proxy operations, where there are no steps at all
  std::uint64_t bytes = 0;
  double gpu_wait_ns = 0;
  double peer_wait_ns = 0;
  double transfer_ns = 0;  // of proxy operations: all of their time
  double flush_ns = 0;
  std::optional<double> step_median_gb_s;
  std::optional<Slow> slow;

  double total_ns() const { return gpu_wait_ns + peer_wait_ns + transfer_ns + flush_ns; }
  /// 1e9 bytes a second, while transferring; nothing if bytes or times are not told.
  std::optional<double> throughput_gb_s() const;
};

struct Network {
  std::vector<match::Communicator> communicators;
  std::vector<Link> links;          // by communicator, rank, direction, peer, channel
  std::uint32_t judged = 0;         // links that were compared with their siblings
  bool has_steps = false;           // else from proxy operations
  std::uint64_t without_place = 0;  // transfers of which NCCL named no communicator of ours
  std::uint64_t in_flight = 0;      // left out
  std::uint64_t not_chosen = 0;     // left out by the options that choose a part
  std::uint64_t untold = 0;         // steps without states: where their time went is not told
};

/// Least number of steps of a size class for a link to be judged, and of links to compare with.
inline constexpr std::size_t kLeastSteps = 20;
inline constexpr std::size_t kLeastSiblings = 4;
/// A link is slow if it is that many times and deviations below its siblings.
inline constexpr double kSlowFactor = 1.25;
inline constexpr double kSlowDeviations = 5;

Network find_network(const model::Traces& traces);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_NETWORK_H
