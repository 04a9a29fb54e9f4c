// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/stragglers.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>

#include "analyzer/metrics/global_ranks.h"
#include "analyzer/metrics/saturating.h"
#include "analyzer/metrics/timing.h"

namespace ringside::metrics {
namespace {

// An operation in which a candidate took part, and somebody was surely last.
struct Attendance {
  std::int64_t at_ns = 0;
  double chance = 0;  // to be last by chance
  bool was_last = false;
  std::int64_t margin_ns = 0;
};

struct Candidate {
  Lateness facts;
  std::vector<Attendance> turns;
};

// The moment from which the candidate is last far more often than by chance: where the sum of
// (was last - a threshold between chance and always) is least before its greatest rise.
std::optional<std::int64_t> beginning(const std::vector<Attendance>& turns) {
  double best = 0;
  double sum = 0;
  std::size_t begin = 0;
  std::optional<std::int64_t> since_ns;
  for (std::size_t i = 0; i < turns.size(); ++i) {
    sum += (turns[i].was_last ? 1.0 : 0.0) - (turns[i].chance + 1) / 2;
    if (sum <= 0) {
      sum = 0;
      begin = i + 1;
    } else if (sum > best) {
      best = sum;
      since_ns = turns[begin].at_ns;
    }
  }
  return since_ns;
}

// Sums keep within what fits.
void raise(std::int64_t& sum_ns, std::int64_t by_ns) {
  sum_ns = add_saturating(sum_ns, by_ns);
}

class Finder {
 public:
  Finder(const model::Traces& traces, const match::Matches& matches,
         const align::Alignment& alignment)
      : traces_(traces), matches_(matches), alignment_(alignment), who_(traces, matches) {
    ranks_.resize(who_.all().size());
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      const model::Process& process = traces.files[who_.all()[i].file].process;
      ranks_[i].facts.label = who_.all()[i].label;
      ranks_[i].facts.host = process.host;
      ranks_[i].facts.pid = process.pid;
    }
    hosts_.resize(alignment.hosts().size());
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
      hosts_[i].facts.label = hosts_[i].facts.host = alignment.hosts()[i].host;
    }
  }

  Stragglers find() {
    for (const match::MatchedOperation& operation : matches_.operations) {
      if (is_synchronising(traces_, operation)) {
        add(operation);
      }
    }
    result_.ranks = finish(std::move(ranks_));
    result_.hosts = finish(std::move(hosts_));
    return std::move(result_);
  }

 private:
  void add(const match::MatchedOperation& operation) {
    const std::uint32_t expected = match::ranks_expected(matches_, operation);
    if (expected < 2) {
      return;
    }
    ++result_.operations;
    count_parts(operation);
    // An absent rank may have been the last.
    const auto timing = match::ranks_seen(matches_, operation) < expected
                            ? std::nullopt
                            : timing_of(traces_, matches_, alignment_, operation);
    if (!timing) {
      ++result_.partial;
      return;
    }
    if (timing->is_impossible) {
      ++result_.impossible;
      return;
    }
    result_.by_call += timing->from == ArrivalFrom::kCall ? 1 : 0;
    if (timing->has_ends && timing->busy_ns() > 0) {
      raise(result_.busy_ns, timing->busy_ns());
    }
    if (!timing->is_decided()) {
      ++result_.undecided;
      return;
    }
    ++result_.decided;
    raise(result_.waited_ns, timing->waited_ns());
    raise(result_.rank_time_ns, timing->waited_ns());
    if (timing->has_ends && timing->busy_ns() > 0) {
      raise(result_.rank_time_ns,
            multiply_saturating(timing->busy_ns(),
                                static_cast<std::int64_t>(timing->arrivals.size())));
    }
    count_ranks(operation, *timing);
    count_hosts(operation, *timing);
  }

  // Whatever comes of it: of a host if another one takes part, too.
  void count_parts(const match::MatchedOperation& operation) {
    const auto parts = match::parts_of(matches_, operation);
    std::vector<std::uint32_t>& hosts = hosts_of_parts_;
    hosts.clear();
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (i == 0 || parts[i].member != parts[i - 1].member) {
        ++ranks_[who_.of(operation.communicator, parts[i].member)].facts.took_part;
        hosts.push_back(alignment_.host_of(parts[i].file));
      }
    }
    std::sort(hosts.begin(), hosts.end());
    hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
    if (hosts.size() > 1) {
      for (const std::uint32_t host : hosts) {
        ++hosts_[host].facts.took_part;
      }
    }
  }

  void count_ranks(const match::MatchedOperation& operation, const Timing& timing) {
    const double chance = 1.0 / static_cast<double>(timing.arrivals.size());
    for (const Arrival& arrival : timing.arrivals) {
      const match::Part& part = matches_.parts[arrival.part];
      Candidate& candidate = ranks_[who_.of(operation.communicator, part.member)];
      const bool was_last = &arrival == &timing.arrivals.back();
      raise(candidate.facts.waited_ns, timing.last_start_ns() - arrival.start_ns);
      take(candidate, operation, timing, chance, was_last, timing.margin_ns());
    }
  }

  // A host's margin is against the other hosts.
  void count_hosts(const match::MatchedOperation& operation, const Timing& timing) {
    std::map<std::uint32_t, std::pair<double, std::int64_t>> present;  // ranks, last arrival
    for (const Arrival& arrival : timing.arrivals) {
      auto& [ranks, last_ns] = present[host_of(arrival)];
      ranks += 1;
      last_ns = arrival.start_ns;
    }
    if (present.size() < 2) {
      return;
    }
    const std::uint32_t last = host_of(timing.arrivals.back());
    std::int64_t other_ns = timing.first_start_ns();
    for (const auto& [host, facts] : present) {
      other_ns = host == last ? other_ns : std::max(other_ns, facts.second);
    }
    for (const auto& [host, facts] : present) {
      const double chance = facts.first / static_cast<double>(timing.arrivals.size());
      take(hosts_[host], operation, timing, chance, host == last,
           timing.last_start_ns() - other_ns);
    }
  }

  std::uint32_t host_of(const Arrival& arrival) const {
    return alignment_.host_of(matches_.parts[arrival.part].file);
  }

  static void take(Candidate& candidate, const match::MatchedOperation& operation,
                   const Timing& timing, double chance, bool was_last, std::int64_t margin_ns) {
    Lateness& facts = candidate.facts;
    ++facts.operations;
    facts.expected += chance;
    candidate.turns.push_back({timing.last_start_ns(), chance, was_last, margin_ns});
    if (was_last) {
      ++facts.last;
      ++facts.last_in[operation.communicator];
      raise(facts.caused_wait_ns, timing.waited_ns());
      raise(facts.delay_ns, margin_ns);
      if (margin_ns > facts.most_margin_ns) {
        facts.most_margin_ns = margin_ns;
        facts.most_at_ns = timing.last_start_ns();
      }
    }
  }

  static std::vector<Lateness> finish(std::vector<Candidate> candidates) {
    std::vector<Lateness> finished;
    const auto many = static_cast<double>(candidates.size());
    for (Candidate& candidate : candidates) {
      Lateness& facts = candidate.facts;
      if (facts.operations == 0) {
        continue;
      }
      const double chance = facts.expected / static_cast<double>(facts.operations);
      facts.chance = std::min(1.0, many * binomial_tail(facts.operations, facts.last, chance));
      std::vector<std::int64_t> margins_ns;
      for (const Attendance& turn : candidate.turns) {
        if (turn.was_last) {
          margins_ns.push_back(turn.margin_ns);
        }
      }
      if (!margins_ns.empty()) {
        const auto middle = margins_ns.begin() + static_cast<std::ptrdiff_t>(margins_ns.size() / 2);
        std::nth_element(margins_ns.begin(), middle, margins_ns.end());
        facts.median_margin_ns = *middle;
      }
      if (facts.is_significant()) {
        std::stable_sort(
            candidate.turns.begin(), candidate.turns.end(),
            [](const Attendance& a, const Attendance& b) { return a.at_ns < b.at_ns; });
        facts.since_ns = beginning(candidate.turns);
      }
      finished.push_back(std::move(facts));
    }
    std::stable_sort(finished.begin(), finished.end(), [](const Lateness& a, const Lateness& b) {
      return a.caused_wait_ns > b.caused_wait_ns;
    });
    return finished;
  }

  const model::Traces& traces_;
  const match::Matches& matches_;
  const align::Alignment& alignment_;
  const GlobalRanks who_;
  std::vector<Candidate> ranks_;
  std::vector<Candidate> hosts_;
  std::vector<std::uint32_t> hosts_of_parts_;  // of one operation, kept for its memory
  Stragglers result_;
};

}  // namespace

// Sums the terms from `successes` on, each from the one before; they fall fast beyond the mean.
double binomial_tail(std::uint64_t trials, std::uint64_t successes, double probability) {
  const auto n = static_cast<double>(trials);
  const auto k = static_cast<double>(successes);
  if (successes == 0 || probability >= 1) {
    return 1;
  }
  if (probability <= 0 || successes > trials) {
    return 0;
  }
  if (k <= n * probability) {
    return 1 - binomial_tail(trials, trials - successes + 1, 1 - probability);
  }
  double term = std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) +
                         k * std::log(probability) + (n - k) * std::log1p(-probability));
  double sum = 0;
  for (double i = k; i <= n && term > sum * 1e-12; ++i) {
    sum += term;
    term *= (n - i) / (i + 1) * probability / (1 - probability);
  }
  return std::min(sum, 1.0);
}

Stragglers find_stragglers(const model::Traces& traces, const match::Matches& matches,
                           const align::Alignment& alignment) {
  return Finder(traces, matches, alignment).find();
}

}  // namespace ringside::metrics
