// SPDX-License-Identifier: Apache-2.0
//
// Finds links that are slower than others of their class. Links of one kind of hardware are one
// class; the classes are found from the data.
#ifndef RINGSIDE_ANALYZER_METRICS_NETWORK_SLOW_LINKS_H
#define RINGSIDE_ANALYZER_METRICS_NETWORK_SLOW_LINKS_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/metrics/network/transfer_times.h"

namespace ringside::metrics {

/// Least number of steps of a size for a link to be judged, and of pairs of ranks in a class.
inline constexpr std::size_t kLeastSteps = 20;
inline constexpr std::size_t kLeastSiblings = 4;
/// A link is slow if it is that many times below its siblings, and if chance would make one of all
/// links of a job so slow less often than that.
inline constexpr double kSlowFactor = 1.25;
inline constexpr double kSlowChance = 0.01;

/// Only links of the same kind are compared. Links of one kind may fall into several classes.
struct LinkKind {
  std::uint32_t communicator = 0;
  std::uint64_t step_bytes = 0;      // steps of this size, up to twice as much
  bool is_same_host = false;         // both ranks are on one host
  SeenBy seen_by = SeenBy::kSender;  // kBoth: up to the arrival of the data

  auto operator<=>(const LinkKind&) const = default;
};

/// Links of one kind and of about one rate.
struct LinkClass {
  LinkKind kind;
  std::uint32_t part = 0;   // of its kind, the fastest first
  std::uint32_t parts = 1;  // into which its kind fell
  std::uint32_t links = 0;
  std::uint32_t pairs = 0;    // of ranks
  double usual_gb_s = 0;      // median over the links
  double spread_percent = 0;  // a standard deviation of the links, of the median
  bool is_judged = false;     // there are enough pairs of ranks
};

/// The reason for which a link is called slow.
struct Slow {
  std::size_t link_class = 0;  // index into the classes
  std::uint64_t steps = 0;
  double own_gb_s = 0;  // while the link was busy, median over runs of steps
  double usual_gb_s = 0;
  double factor = 0;  // usual / own
  double chance = 1;  // that one of all links is so slow where all are alike
};

/// A link with what its steps of one size say of its rate.
struct RatedLink {
  LinkKind kind;
  std::size_t link = 0;  // whose; as the caller counts
  std::uint32_t sender = 0;
  std::uint32_t receiver = 0;
  std::uint64_t steps = 0;
  double gb_s = 0;            // median over runs of steps
  double relative_error = 0;  // standard error of it
};

struct SlowLink {
  std::size_t link = 0;
  Slow slow;
};

struct JudgedLinks {
  std::vector<LinkClass> classes;
  std::vector<SlowLink> slow;  // of each link, by the size of steps that moved the most
  std::size_t judged = 0;      // links that were compared with others
};

/// Rates a link by its steps, with one entry for each size of steps (2^k to 2^(k+1) - 1 bytes) that
/// at least kLeastSteps have. `seen_by` is kSender or kBoth. Give kBoth only if the clocks are
/// known well: else their errors look like slow links.
std::vector<RatedLink> rate_link(const std::vector<Moved>& steps, SeenBy seen_by);

/// Finds the classes and the slow links in them.
JudgedLinks judge_links(std::vector<RatedLink> links);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_NETWORK_SLOW_LINKS_H
