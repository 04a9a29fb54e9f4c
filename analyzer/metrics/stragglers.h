// SPDX-License-Identifier: Apache-2.0
//
// Finds the ranks and hosts for which the others wait, the cost of that, and whether it is more
// than chance. docs/metrics.md defines the figures.
#ifndef RINGSIDE_ANALYZER_METRICS_STRAGGLERS_H
#define RINGSIDE_ANALYZER_METRICS_STRAGGLERS_H

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/facts/facts.h"
#include "analyzer/metrics/grouping.h"
#include "analyzer/metrics/late_events.h"

namespace ringside::metrics {

/// Less is not worth a person's time, however significant.
inline constexpr double kLeastShare = 0.01;
/// A rank that may cost more than this must not be passed over in silence.
inline constexpr double kOpenShare = 0.05;

/// One rank, or one host, over all communicators that were looked at.
struct Lateness {
  std::string label;  // "rank 3"; the host's name
  std::string host;
  std::int64_t pid = 0;
  std::uint64_t took_part = 0;      // operations
  std::uint64_t judged = 0;         // of them, those of which something is known of who waited
  std::uint64_t last = 0;           // in which most of the waiting was for it
  std::int64_t caused_wait_ns = 0;  // what others surely waited for it, together: GPU time
  std::int64_t passed_on_ns = 0;    // of that, what it had waited for others itself
  /// The time that others surely waited because of it, in operations of others as well.
  std::int64_t cost_ns = 0;
  std::int64_t uncompared_ns = 0;  // of that, where others waited in operations that are not tested
  std::int64_t cost_most_ns = 0;   // what the clocks leave possible
  std::int64_t expected_ns = 0;    // what it would cost if all others were like it
  std::int64_t delay_ns = 0;       // by how much operations surely began later for it alone
  std::int64_t median_margin_ns = 0;  // behind the one before it
  std::int64_t most_margin_ns = 0;    // the greatest, and when
  std::int64_t most_at_ns = 0;
  std::int64_t most_cost_ns = 0;  // what one operation cost at most
  std::int64_t waited_ns = 0;     // what it surely waited for others itself
  std::optional<double> chance;   // of the greatest excess of any; nothing: it was not tested
  bool is_straggler = false;      // it costs enough, and that is no chance
  /// A straggler that is one also where its greatest delays count no more than lesser ones.
  bool is_late_beside_great = false;
  /// Not a straggler, and root too often to be compared with others but by its own times.
  bool is_frequent_root = false;
  bool was_late_once = false;                      // it costs enough, in a few operations
  LateTimes times;                                 // of stragglers
  std::map<std::uint32_t, std::uint64_t> last_in;  // times last, by index of the communicator

  /// Only the members that operations add to; the others are found at the end.
  template <typename Archive>
  void transfer(Archive& archive) {
    archive(took_part, judged, last, caused_wait_ns, passed_on_ns, cost_ns, uncompared_ns,
            cost_most_ns, delay_ns, most_margin_ns, most_at_ns, most_cost_ns, waited_ns, last_in);
  }
};

/// The waiting in all operations of one function and one group.
struct WaitedAt {
  std::uint64_t operations = 0;
  std::int64_t waited_ns = 0;  // surely, by all ranks
};

struct Stragglers {
  std::vector<Lateness> ranks;  // by cost_ns, most first
  std::vector<Lateness> hosts;
  std::uint64_t operations = 0;  // on several ranks
  std::uint64_t decided = 0;     // in which it is sure for whom all others waited
  std::uint64_t undecided = 0;   // in which it is not
  std::uint64_t impossible = 0;  // left out: their times contradict each other
  std::uint64_t partial = 0;     // left out: not all ranks have a trace of it
  std::uint64_t by_call = 0;     // left out: calls alone do not tell who waited
  std::uint64_t unseen = 0;      // some rank came at any time after its call
  std::int64_t waited_ns = 0;    // surely, by all
  std::int64_t waited_most_ns = 0;
  /// By the text of the group (Grouping::text_of), which is empty if not known, and by function. It
  /// sums to waited_ns.
  std::map<std::pair<std::string, std::string>, WaitedAt> by_group;
  RowsBy grouped_by = RowsBy::kCaller;

  /// Only the members that operations add to; the others are found at the end.
  template <typename Archive>
  void transfer(Archive& archive) {
    archive(operations, decided, undecided, impossible, partial, by_call, unseen, waited_ns,
            waited_most_ns);
  }

  /// All ranks' time, which every share is of: from the first arrival to the last end of a run,
  /// times its ranks.
  std::int64_t all_time_ns = 0;

  /// Operations in which somebody may have waited that is not known of: calls alone are known, or
  /// not of all ranks.
  std::uint64_t untold() const { return by_call + partial; }
  /// Whether these are more than kOpenShare of all. The most that a rank may cost is not known
  /// then.
  bool has_untold() const {
    return static_cast<double>(untold()) > kOpenShare * static_cast<double>(operations);
  }
  double share(std::int64_t time_ns) const {
    return all_time_ns > 0 ? static_cast<double>(time_ns) / static_cast<double>(all_time_ns) : 0;
  }
  /// The share that it costs, at least: beyond what it would if all were alike.
  double share_of(const Lateness& one) const {
    return share(one.cost_ns > one.expected_ns ? one.cost_ns - one.expected_ns : 0);
  }
  double most_share_of(const Lateness& one) const { return share(one.cost_most_ns); }
  /// The ranks that may cost more than that share and are no stragglers. Either the clocks leave it
  /// open, or it may be chance. If there are no such ranks, the result has such hosts. The ones
  /// that surely cost more come first, in the order of `ranks` or `hosts`. The others follow, the
  /// greatest possible cost first.
  std::vector<const Lateness*> find_open(double limit = kOpenShare) const;
};

/// `by`: what the waiting is summed up by. `also`: sums up the operations on several ranks besides.
Stragglers find_stragglers(const facts::Facts& facts, RowsBy by = RowsBy::kCaller,
                           const facts::Fold& also = {});

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_STRAGGLERS_H
