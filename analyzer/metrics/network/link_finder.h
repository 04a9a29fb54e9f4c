// SPDX-License-Identifier: Apache-2.0
//
// Finds the links of the network: the two ends of each, as the files have them, are joined.
#ifndef RINGSIDE_ANALYZER_METRICS_NETWORK_LINK_FINDER_H
#define RINGSIDE_ANALYZER_METRICS_NETWORK_LINK_FINDER_H

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyzer/align/alignment.h"
#include "analyzer/match/communicators/communicators.h"
#include "analyzer/match/communicators/runs.h"
#include "analyzer/metrics/network/foreign_transfers.h"
#include "analyzer/metrics/network/network.h"
#include "analyzer/metrics/network/slow_links.h"
#include "analyzer/model/trace.h"

namespace ringside::metrics {

/// The transfer of one step on the common clock, as one end saw it.
struct SeenStep {
  std::uint64_t group = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::uint64_t bytes = 0;
};

/// Links of which all is known, but not which of them are slow.
struct FoundLinks {
  /// `rates`: of a sending link.
  struct Rated {
    Link link;
    std::vector<RatedLink> rates;
  };
  std::vector<Rated> links;
  std::vector<Pair> pairs;
  TransferCounts counts;
};

class LinkFinder {
 public:
  /// All must outlive it.
  LinkFinder(const model::Traces& traces, const align::Alignment& alignment,
             const match::Runs& runs, const std::vector<match::Communicator>& communicators);

  /// To be called once.
  FoundLinks find();

 private:
  // A link with the steps of all files, and, if it sends, with what its receiver saw of them.
  struct Joined {
    Link link;
    std::vector<SeenStep> seen;
    std::vector<Moved> moved;
  };
  using LinkKey = decltype(Link().key());

  void find_groups(const model::TraceFile& file);
  template <typename Row>
  Joined* link_of(std::uint32_t file, const Row& row, std::optional<std::uint32_t> peer);
  void add_step(std::uint32_t file, const model::Step& step);
  void add_proxy(std::uint32_t file, const model::ProxyOperation& proxy);
  std::optional<std::uint32_t> member_of(std::uint32_t communicator,
                                         std::optional<std::uint32_t> rank) const;
  Joined* receiver_of(const Link& link);
  void join(Joined& sends, Joined* receives) const;
  void join_ends();
  std::vector<Pair> make_pairs() const;
  std::vector<RatedLink> rate(const Joined& joined) const;

  const model::Traces& traces_;
  const align::Alignment& alignment_;
  const std::vector<match::Communicator>& communicators_;
  ForeignTransfers foreign_;
  bool has_steps_;
  TransferCounts counts_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Place> places_;  // of a file's context
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> member_of_rank_;
  std::unordered_map<std::uint64_t, std::uint64_t> group_of_operation_;  // of the file at hand
  std::map<LinkKey, Joined> links_;
};

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_NETWORK_LINK_FINDER_H
