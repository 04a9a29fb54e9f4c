// SPDX-License-Identifier: Apache-2.0
//
// Finds the links of the network by what each file has of them. The files may be in several
// processes: each collects what its own have, and the two ends of a link are joined where they
// meet.
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

/// A link as one file has it.
struct LinkSteps {
  Link link;
  std::vector<SeenStep> seen;

  template <typename Archive>
  void transfer(Archive& archive) {
    archive(link, seen);
  }
};

/// Links of which all is known, but not which of them are slow.
struct FoundLinks {
  /// `rates`: of a sending link.
  struct Rated {
    Link link;
    std::vector<RatedLink> rates;

    template <typename Archive>
    void transfer(Archive& archive) {
      archive(link, rates);
    }
  };
  std::vector<Rated> links;
  std::vector<Pair> pairs;
  TransferCounts counts;

  void take(FoundLinks&& more);

  template <typename Archive>
  void transfer(Archive& archive) {
    archive(links, pairs, counts);
  }
};

class LinkFinder {
 public:
  /// Rows may be in other processes, but all files are here. All must outlive it.
  LinkFinder(const model::Traces& traces, const align::Alignment& alignment,
             const match::Runs& runs, const std::vector<match::Communicator>& communicators);

  /// The links of the rows that are here, file by file.
  std::vector<LinkSteps> collect();
  /// All links with the same one must be joined together: both ends of a link, and all links from
  /// one rank to another. It is the file of the rank that sends, if that is known.
  std::uint32_t file_of(const Link& link) const;
  /// Joins what was collected of some files, in any order, and counts what collect() left out.
  FoundLinks join(std::vector<LinkSteps> collected);

 private:
  // A link with the steps of all files, and, if it sends, with what its receiver saw of them.
  struct Joined {
    Link link;
    std::vector<SeenStep> seen;
    std::vector<Moved> moved;
  };
  using LinkKey = decltype(Link().key());
  using Links = std::map<LinkKey, Joined>;

  void find_groups(const model::TraceFile& file);
  template <typename Row>
  LinkSteps* link_of(std::uint32_t file, const Row& row, std::optional<std::uint32_t> peer);
  void add_step(std::uint32_t file, const model::Step& step);
  void add_proxy(std::uint32_t file, const model::ProxyOperation& proxy);
  std::optional<std::uint32_t> member_of(std::uint32_t communicator,
                                         std::optional<std::uint32_t> rank) const;
  Joined* receiver_of(const Link& link, Links& links) const;
  void join(Joined& sends, Joined* receives) const;
  void join_ends(Links& links) const;
  std::vector<Pair> make_pairs(const Links& links) const;
  std::vector<RatedLink> rate(const Joined& joined) const;

  const model::Traces& traces_;
  const align::Alignment& alignment_;
  const std::vector<match::Communicator>& communicators_;
  ForeignTransfers foreign_;
  bool has_steps_;
  TransferCounts counts_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Place> places_;  // of a file's context
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> member_of_rank_;
  // These are of the file at hand.
  std::unordered_map<std::uint64_t, std::uint64_t> group_of_operation_;
  std::map<LinkKey, LinkSteps> links_;
};

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_NETWORK_LINK_FINDER_H
