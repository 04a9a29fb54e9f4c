// SPDX-License-Identifier: Apache-2.0
//
// How fast each rank's network transfers were, by peer, channel and direction, and what they waited
// for. docs/metrics.md defines the figures.
#ifndef RINGSIDE_ANALYZER_METRICS_NETWORK_NETWORK_H
#define RINGSIDE_ANALYZER_METRICS_NETWORK_NETWORK_H

#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "analyzer/align/alignment.h"
#include "analyzer/match/communicators/communicators.h"
#include "analyzer/metrics/network/slow_links.h"
#include "analyzer/metrics/network/transfer_times.h"
#include "analyzer/model/trace.h"

namespace ringside::metrics {

struct Link {
  std::uint32_t communicator = 0;  // index into Network::communicators
  std::uint32_t member = 0;        // of the communicator: the rank
  std::uint32_t file = 0;          // that recorded it: another rank's, where that is its proxy
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
  Throughput throughput;
  std::optional<double> step_median_ns;  // how long the transfer of one step took
  std::optional<Slow> slow;

  double total_ns() const { return gpu_wait_ns + peer_wait_ns + transfer_ns + flush_ns; }
  /// By communicator, rank's position, sending first, peer, channel.
  auto key() const { return std::tuple(communicator, member, !is_send, peer, channel); }
};

/// All that one rank sent to another, over channels and operations.
struct Pair {
  std::uint32_t communicator = 0;
  std::uint32_t rank = 0;
  std::uint32_t peer = 0;
  std::uint64_t bytes = 0;
  double wait_ns = 0;  // of the sender's steps: for the GPU and for credit
  Throughput throughput;
};

struct TransferCounts {
  std::uint64_t foreign = 0;         // through the proxy of another process (PXN)
  std::uint64_t foreign_known = 0;   // of them, those whose ranks are known: they are in `links`
  std::uint64_t without_place = 0;   // transfers of which NCCL named no communicator of ours
  std::uint64_t in_flight = 0;       // left out
  std::uint64_t without_states = 0;  // steps without states: where their time went is not known
};

struct Network : TransferCounts {
  std::vector<match::Communicator> communicators;
  std::vector<Link> links;         // by communicator, rank, direction, peer, channel
  std::vector<Pair> pairs;         // by communicator, rank, peer
  std::vector<LinkClass> classes;  // of the sending links with enough steps
  std::uint32_t judged = 0;        // links that were compared with their siblings
  bool has_steps = false;          // else from proxy operations
  std::uint64_t not_chosen = 0;    // left out by the options that choose a part

  /// Whether there are transfers, but none of them tells whether its link is slow.
  bool has_unjudged_links() const { return !links.empty() && judged == 0; }
};

Network find_network(const model::Traces& traces, const align::Alignment& alignment);

/// Whether a file has steps of the network.
bool has_steps(const model::Traces& traces);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_NETWORK_NETWORK_H
