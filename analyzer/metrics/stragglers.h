// SPDX-License-Identifier: Apache-2.0
//
// Who comes last, how often, and what it costs the others.
#ifndef RINGSIDE_ANALYZER_METRICS_STRAGGLERS_H
#define RINGSIDE_ANALYZER_METRICS_STRAGGLERS_H

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/align/alignment.h"
#include "analyzer/match/matcher.h"
#include "analyzer/model/trace.h"

namespace ringside::metrics {

/// One rank, or one host, over all communicators that were looked at.
struct Lateness {
  std::string label;  // "rank 3"; the host's name
  std::string host;
  std::int64_t pid = 0;
  std::uint64_t took_part = 0;   // in how many operations that synchronise, decided or not
  std::uint64_t operations = 0;  // of them, those in which somebody was surely last
  std::uint64_t last = 0;        // of them, in which it was that
  double expected = 0;           // how often chance would have made it so
  /// The probability that one of so many comes last so often, or more often, by chance.
  double chance = 1;
  std::int64_t caused_wait_ns = 0;    // what all others waited for it, together: GPU time
  std::int64_t delay_ns = 0;          // by how much operations began later for it alone
  std::int64_t median_margin_ns = 0;  // behind the one before it
  std::int64_t most_margin_ns = 0;    // the greatest, and when
  std::int64_t most_at_ns = 0;
  std::int64_t waited_ns = 0;                      // what it waited for others itself
  std::optional<std::int64_t> since_ns;            // epoch: when it began to be last so often
  std::map<std::uint32_t, std::uint64_t> last_in;  // times last, by index of the communicator

  /// Not by chance: less than one in a million, with the number of candidates taken into account.
  bool is_significant() const { return chance < 1e-6; }
};

struct Stragglers {
  std::vector<Lateness> ranks;  // by caused_wait_ns, most first
  std::vector<Lateness> hosts;
  std::uint64_t operations = 0;  // synchronising collectives on several ranks
  std::uint64_t decided = 0;     // in which somebody was surely last
  std::uint64_t undecided = 0;   // the first two from the end are nearer than the clocks can tell
  std::uint64_t impossible = 0;  // left out: their times contradict each other
  std::uint64_t partial = 0;     // left out: not all ranks have a trace of it
  std::uint64_t by_call = 0;     // judged by the call: nothing is known of the execution
  std::int64_t waited_ns = 0;    // by all, in those that were decided
  std::int64_t busy_ns = 0;      // from last start to last end, of those whose ends are known
  /// What all ranks spent in those that were decided: waiting, and the operation itself.
  std::int64_t rank_time_ns = 0;

  /// The part of rank_time_ns that all others waited for this one; 0 to 1.
  double share_of(const Lateness& lateness) const {
    return rank_time_ns > 0
               ? static_cast<double>(lateness.caused_wait_ns) / static_cast<double>(rank_time_ns)
               : 0;
  }
};

Stragglers find_stragglers(const model::Traces& traces, const match::Matches& matches,
                           const align::Alignment& alignment);

/// P(X >= successes) of a binomial distribution.
double binomial_tail(std::uint64_t trials, std::uint64_t successes, double probability);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_STRAGGLERS_H
