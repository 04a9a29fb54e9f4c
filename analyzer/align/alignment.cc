// SPDX-License-Identifier: Apache-2.0
#include "analyzer/align/alignment.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include "analyzer/align/bounds.h"
#include "analyzer/align/clock_pieces.h"
#include "analyzer/align/clock_prior.h"
#include "analyzer/align/host_clocks.h"
#include "analyzer/align/host_path.h"
#include "analyzer/align/points/sync_points.h"
#include "analyzer/align/points/tightest_points.h"
#include "analyzer/align/solved_clocks.h"
#include "analyzer/model/joined.h"
#include "analyzer/model/parallel.h"

namespace ringside::align {
namespace {

// A drift is told if it is known to so much.
constexpr double kKnownRate = 10e-6;

// So many steps of one clock are told; the others are counted.
constexpr std::size_t kMostStepsTold = 5;

// Touches of the points by which any two hosts are bound, for each of the hosts.
constexpr std::size_t kMostPairWork = std::size_t{1} << 17;

std::string kinds_text(const std::array<std::uint32_t, kPointKinds>& counts) {
  const std::uint64_t all = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  std::string text;
  for (std::size_t i = 0; i < kPointKinds; ++i) {
    // Kinds that set few of the bounds are not worth their words.
    if (counts[i] > 0 && std::uint64_t{counts[i]} * 10 >= all) {
      text += (text.empty() ? "" : ", ") + std::string(point_kind_name(static_cast<PointKind>(i)));
    }
  }
  return text;
}

std::string names_text(const std::vector<std::string>& names) {
  return model::joined(names, 8);
}

std::string seconds_text(double ns) {
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%.6f", ns / 1e9);
  return text.data();
}

std::string percent_free(double ppm) {
  return std::to_string(static_cast<int>(std::lround(ppm)));
}

}  // namespace

Alignment Alignment::none(const model::Traces& traces) {
  const HostClocks clocks = find_host_clocks(traces);
  Alignment made;
  made.errors_ = StampErrors(traces);
  made.host_of_file_ = clocks.host_of_file;
  made.since_epoch_ns_ = clocks.since_epoch_ns;
  made.curves_.resize(clocks.hosts.size());
  for (const HostClock& host : clocks.hosts) {
    HostOffset& offset = made.hosts_.emplace_back();
    offset.host = host.name;
    offset.files = host.files;
  }
  if (!made.hosts_.empty()) {
    made.hosts_.front().is_reference = true;
  }
  return made;
}

Alignment Alignment::estimate(const model::Traces& traces,
                              std::optional<std::int64_t> clock_error_ns) {
  return estimate(traces, match::Matching(traces).trusted(), clock_error_ns);
}

Alignment Alignment::estimate(const model::Traces& traces, const match::Matches& trusted,
                              std::optional<std::int64_t> clock_error_ns) {
  Alignment made = none(traces);
  const HostClocks clocks = find_host_clocks(traces);
  made.is_aligned_ = true;
  if (clocks.hosts.size() > 1) {
    made.align(traces, clocks, find_sync_points(traces, trusted, clocks, made.errors_),
               clock_error_ns);
  }
  return made;
}

void Alignment::align(const model::Traces& traces, const HostClocks& clocks, SyncPoints points,
                      std::optional<std::int64_t> clock_error_ns) {
  const std::size_t hosts = clocks.hosts.size();
  zero_ns_ = points.zero_ns;
  points_ = points.points;
  untrusted_ = points.untrusted;
  ClockPieces pieces(traces, clocks, points.zero_ns);
  pieces.cut_at_told(traces, clocks, points);
  SolvedClocks solved = solve_clocks(points, pieces);
  Solution& solution = solved.solution;
  const std::uint32_t reference = solved.reference;
  const Assumption& assumption = solved.assumption;
  for (std::size_t i = 0; i < hosts; ++i) {
    hosts_[i].is_reference = i == pieces[reference].host;
  }
  if (solution.is_contradictory) {
    notes_.push_back(
        "the operations contradict each other about the clocks: some are not matched rightly, or a "
        "clock jumped; every host's own CLOCK_REALTIME is believed");
    return;
  }
  wander_ppm_ = assumption.wander * 1e6;
  if (assumption.wander > kUsualWander) {
    notes_.push_back("clocks wander by up to " + percent_free(wander_ppm_) +
                     " ppm around their mean rate here, more than is usual, or one stepped");
  }
  const auto priors_of_hosts = find_clock_priors(traces, clocks, points.zero_ns, clock_error_ns);
  std::vector<ClockPrior> priors;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    priors.push_back(priors_of_hosts[pieces[i].host].within(pieces[i].begin_ns, pieces[i].end_ns));
  }
  use_priors(points, pieces, reference, assumption, priors, solution);
  std::vector<std::vector<std::string>> notes(hosts);
  for_each_on_cores(hosts, [&](std::size_t /*thread*/, std::size_t i) {
    take(static_cast<std::uint32_t>(i), solution, pieces, reference, notes[i]);
  });
  for (std::vector<std::string>& own : notes) {
    notes_.insert(notes_.end(), own.begin(), own.end());
  }
  bound_pairs(std::move(points), pieces, reference, assumption, priors);
}

// The operations were believed first, so their assumption about rates stands. The `priors`
// that remain are in use.
void Alignment::use_priors(const SyncPoints& points, const ClockPieces& pieces,
                           std::uint32_t reference, const Assumption& assumption,
                           std::vector<ClockPrior>& priors, Solution& solution) {
  const auto is_known = [](const ClockPrior& prior) { return prior.is_known(); };
  if (std::count_if(priors.begin(), priors.end(), is_known) < 2) {
    priors.clear();
    return;
  }
  Solution narrowed = propagate(points, pieces.size(), reference, assumption, priors);
  if (narrowed.is_contradictory) {
    drop_contradicted(points, pieces, assumption, priors);
    narrowed = propagate(points, pieces.size(), reference, assumption, priors);
  }
  if (narrowed.is_contradictory) {
    notes_.emplace_back("the given errors of the clocks contradict each other: none is used");
    priors.clear();
    return;
  }
  std::vector<std::string> resting;
  for (std::uint32_t i = 0; i < pieces.size(); ++i) {
    const HostPath& before = solution.hosts[i];
    const HostPath& after = narrowed.hosts[i];
    bool rests = false;
    for (std::size_t k = 0; k < after.time_ns.size(); ++k) {
      rests = rests || after.lower_ns[k] > before.lower_ns[k] + 1 ||
              after.upper_ns[k] < before.upper_ns[k] - 1;
    }
    if (!rests) {
      continue;
    }
    HostOffset& host = hosts_[pieces[i].host];
    if (!std::exchange(host.rests_on_prior, true)) {
      resting.push_back(host.host);
    }
    if (priors[i].is_known() && priors[reference].is_known()) {
      const ClockPrior::Bounds bounds =
          offset_between(priors[i], priors[reference], after.time_ns[after.time_ns.size() / 2]);
      host.prior_ns = std::llround((bounds.upper_ns - bounds.lower_ns) / 2);
    }
  }
  if (resting.empty()) {
    priors.clear();
    return;
  }
  const auto some = [&](bool is_given) {
    return std::any_of(priors.begin(), priors.end(), [&](const ClockPrior& prior) {
      return prior.is_known() && prior.is_given() == is_given;
    });
  };
  const std::string source = !some(true)   ? "its kernel reports"
                             : some(false) ? "its kernel reports or --clock-error gives"
                                           : "--clock-error gives";
  notes_.push_back("the offsets of the clocks of " + names_text(resting) +
                   " rely on the error of each clock that " + source + ", not on the traces");
  solution = std::move(narrowed);
}

// Any cycle of bounds that contradicts itself has two priors or none. So each pair of hosts is
// held against what the operations alone say of it, and both priors of a pair go.
void Alignment::drop_contradicted(const SyncPoints& points, const ClockPieces& pieces,
                                  const Assumption& assumption, std::vector<ClockPrior>& priors) {
  std::vector<bool> is_dropped(priors.size());
  for (std::uint32_t here = 0; here < priors.size(); ++here) {
    if (!priors[here].is_known()) {
      continue;
    }
    const Solution hard = propagate(points, priors.size(), here, assumption);
    for (std::uint32_t there = here + 1; there < priors.size() && !hard.is_contradictory; ++there) {
      HostPath path = hard.hosts[there];
      bound_by_priors(priors[there], priors[here], path);
      if (priors[there].is_known() && !narrow(path, assumption.wander)) {
        is_dropped[here] = true;
        is_dropped[there] = true;
      }
    }
  }
  std::vector<std::string> names;
  for (std::size_t i = 0; i < priors.size(); ++i) {
    if (is_dropped[i]) {
      const std::string& name = hosts_[pieces[i].host].host;
      if (std::find(names.begin(), names.end(), name) == names.end()) {
        names.push_back(name);
      }
      priors[i] = ClockPrior();
    }
  }
  if (!names.empty()) {
    notes_.push_back("the operations contradict the given errors of the clocks of " +
                     names_text(names) + ": their priors are dropped");
  }
}

void Alignment::take(std::uint32_t host, const Solution& solution, const ClockPieces& pieces,
                     std::uint32_t reference, std::vector<std::string>& notes) {
  HostOffset& facts = hosts_[host];
  SteppedCurve& curve = curves_[host];
  std::array<std::uint32_t, kPointKinds> set_by{};
  std::vector<double> times_ns;
  facts.is_bounded = true;
  const std::vector<std::uint32_t> own = pieces.of_host(host);
  for (const std::uint32_t piece : own) {
    const HostPath& path = solution.hosts[piece];
    OffsetCurve part = piece == reference ? OffsetCurve::zero()
                                          : OffsetCurve(path, pieces.size(), wander_ppm_ * 1e-6);
    // Nothing happened in a piece without a moment.
    facts.is_bounded =
        facts.is_bounded && (part.is_bounded() || (own.size() > 1 && path.time_ns.empty()));
    curve.add(std::move(part), pieces[piece].begin_ns, pieces[piece].end_ns,
              pieces[piece].source == StepSource::kTrace);
    times_ns.insert(times_ns.end(), path.time_ns.begin(), path.time_ns.end());
    std::transform(set_by.begin(), set_by.end(), solution.set_by[piece].begin(), set_by.begin(),
                   std::plus());
  }
  const bool is_of_reference = pieces[reference].host == host;
  if (!facts.is_bounded && own.size() > 1 && !is_of_reference) {
    curve = {};
    tell_steps(host, pieces, "no operation bounds it on one side of a step: it is not aligned",
               notes);
    return;
  }
  tell_steps(host, pieces, "it is aligned anew behind that", notes);
  if (is_of_reference && own.size() == 1) {
    facts.drift_ppb = 0;
    return;
  }
  if (!facts.is_bounded || times_ns.empty()) {
    facts.is_bounded = false;
    return;
  }
  facts.set_by = kinds_text(set_by);
  if (facts.rests_on_prior) {
    facts.set_by += facts.set_by.empty() ? "a prior" : ", a prior";
  }
  std::vector<std::pair<double, double>> moments;  // uncertainty, and when
  moments.reserve(times_ns.size());
  for (const double time_ns : times_ns) {
    moments.emplace_back(*curve.at(time_ns).uncertainty_ns, time_ns);
  }
  const auto median = moments.begin() + static_cast<std::ptrdiff_t>(moments.size() / 2);
  std::nth_element(moments.begin(), median, moments.end());
  facts.uncertainty_ns = std::llround(std::ceil(median->first));
  facts.at_ns = zero_ns_ + std::llround(median->second);
  facts.offset_ns = std::llround(curve.at(median->second).offset_ns);
  facts.most_uncertainty_ns = std::llround(std::ceil(
      std::max(std::max_element(median, moments.end())->first, most_at_edges_ns(host, pieces))));
  if (own.size() > 1) {
    return;
  }
  const HostPath& path = solution.hosts[host];
  const double passed_ns = path.time_ns.back() - path.time_ns.front();
  const double least_ns = path.lower_ns.back() - path.upper_ns.front();
  const double greatest_ns = path.upper_ns.back() - path.lower_ns.front();
  if (greatest_ns - least_ns <= 2 * kKnownRate * passed_ns) {
    facts.drift_ppb = (least_ns + greatest_ns) / 2 / passed_ns * 1e9;
  }
}

// A clock is known worst beyond what bounds it first and last, and where it may have stepped.
double Alignment::most_at_edges_ns(std::uint32_t host, const ClockPieces& pieces) const {
  const auto extent_ns = pieces.extent_ns(host);
  if (!extent_ns) {
    return 0;
  }
  double most_ns = 0;
  for (const std::uint32_t piece : pieces.of_host(host)) {
    const double from_ns = std::max(pieces[piece].begin_ns, extent_ns->first);
    const double to_ns = std::min(pieces[piece].end_ns, extent_ns->second);
    for (const double edge_ns : {from_ns, to_ns}) {
      if (from_ns <= to_ns) {
        most_ns = std::max(most_ns, curves_[host].at(edge_ns).uncertainty_ns.value_or(0));
      }
    }
  }
  const std::vector<std::uint32_t> own = pieces.of_host(host);
  for (std::size_t i = 1; i < own.size(); ++i) {
    const ClockPiece& behind = pieces[own[i]];
    if (behind.source != StepSource::kTrace && behind.is_gap_used) {
      most_ns = std::max(most_ns, curves_[host].most_before_ns(i).value_or(0));
    }
  }
  return most_ns;
}

void Alignment::tell_steps(std::uint32_t host, const ClockPieces& pieces,
                           const std::string& outcome, std::vector<std::string>& notes) const {
  const std::vector<std::uint32_t> own = pieces.of_host(host);
  for (std::size_t i = 1; i < own.size(); ++i) {
    if (i > kMostStepsTold) {
      notes.push_back("the clock of " + hosts_[host].host + " stepped " +
                      std::to_string(own.size() - i) + " more times: " + outcome);
      return;
    }
    const ClockPiece& before = pieces[own[i - 1]];
    const ClockPiece& behind = pieces[own[i]];
    const OffsetAt from = curves_[host].at(before.end_ns);
    const OffsetAt to = curves_[host].at(behind.begin_ns);
    const std::string& name = hosts_[host].host;
    std::string text =
        behind.source == StepSource::kTrace
            ? "the clock of " + name + " stepped, as its trace says,"
        : behind.source == StepSource::kPerhaps
            ? "the clock of " + name + " may have stepped instead,"
        : behind.source == StepSource::kOperations
            ? "the operations show that the clock of " + name + " stepped,"
            : "the operations show that a clock stepped, and it may be that of " + name + ',';
    const double began_ns = pieces.began_ns(host);
    text += " between " + seconds_text(before.end_ns - began_ns) + " and " +
            seconds_text(behind.begin_ns - began_ns) + " s after its first trace began";
    if (from.uncertainty_ns && to.uncertainty_ns) {
      text += ", by " + seconds_text(from.offset_ns - to.offset_ns) + " s +- " +
              seconds_text(*from.uncertainty_ns + *to.uncertainty_ns) + " s";
    }
    text += behind.source == StepSource::kTrace ? "" : "; or some are not matched rightly";
    text += ": ";
    text += outcome;
    notes.push_back(std::move(text));
  }
}

// If two hosts meet, the sum of their uncertainties against the reference is twice the one between
// them. So each takes the place of the reference once.
void Alignment::bound_pairs(SyncPoints points, const ClockPieces& pieces, std::uint32_t reference,
                            const Assumption& assumption, const std::vector<ClockPrior>& priors) {
  const std::size_t hosts = hosts_.size();
  if (hosts < 3) {
    return;
  }
  // However many points are taken out, each host that has a touch keeps one.
  std::vector<bool> is_touched(pieces.size());
  for (const Touch& touch : points.touches) {
    is_touched[touch.host] = true;
  }
  const auto least_touches =
      static_cast<std::size_t>(std::count(is_touched.begin(), is_touched.end(), true));
  if (least_touches * hosts <= kMostPairWork) {
    TightestPoints().thin_to(kMostPairWork / hosts, points);
  }
  if (points.touches.size() * hosts > kMostPairWork) {
    notes_.push_back(std::to_string(hosts) +
                     " hosts are too many to compare each two of them: the clocks of two hosts are "
                     "known as well as both are against the reference");
    return;
  }
  pairs_.resize(hosts);
  for_each_on_cores(hosts, [&](std::size_t /*thread*/, std::size_t i) {
    const auto here = static_cast<std::uint32_t>(i);
    if (here == reference || !hosts_[here].is_bounded || pieces.is_cut(here)) {
      return;
    }
    const Solution solution = propagate(points, pieces.size(), here, assumption, priors);
    for (std::uint32_t there = 0; there < hosts && !solution.is_contradictory; ++there) {
      const bool is_other = there > here && there != reference && !pieces.is_cut(there);
      pairs_[here].push_back(is_other ? OffsetCurve(solution.hosts[there], hosts, assumption.wander)
                                      : OffsetCurve());
    }
  });
}

double Alignment::own_ns(std::uint32_t host, std::int64_t common_ns) const {
  return curves_[host].own_ns(static_cast<double>(common_ns - zero_ns_));
}

std::int64_t Alignment::to_host_ns(std::uint32_t file, std::int64_t time_ns) const {
  constexpr std::int64_t kMost_ns = std::int64_t{1} << 60;
  return since_epoch_ns_[file] + std::clamp<std::int64_t>(time_ns, -kMost_ns, kMost_ns);
}

std::int64_t Alignment::host_to_common_ns(std::uint32_t host, std::int64_t host_ns) const {
  const double offset_ns = curves_[host].offset_ns(static_cast<double>(host_ns - zero_ns_));
  return host_ns + std::llround(std::clamp(offset_ns, -1e18, 1e18));
}

OffsetAt Alignment::clock_at(std::uint32_t host, std::int64_t common_ns) const {
  return curves_[host].at(own_ns(host, common_ns));
}

std::optional<std::int64_t> Alignment::uncertainty_ns(std::uint32_t file, std::uint32_t other,
                                                      std::int64_t common_ns) const {
  const std::uint32_t here = std::min(host_of_file_[file], host_of_file_[other]);
  const std::uint32_t there = std::max(host_of_file_[file], host_of_file_[other]);
  if (here == there) {
    return 0;
  }
  const OffsetAt of_here = clock_at(here, common_ns);
  const double there_ns = own_ns(there, common_ns);
  const OffsetAt of_there = curves_[there].at(there_ns);
  if (!of_here.uncertainty_ns || !of_there.uncertainty_ns) {
    return std::nullopt;
  }
  double bound_ns = *of_here.uncertainty_ns + *of_there.uncertainty_ns;
  if (here < pairs_.size() && there < pairs_[here].size()) {
    const OffsetAt between = pairs_[here][there].at(there_ns);
    const double shown_ns = of_there.offset_ns - of_here.offset_ns;
    if (between.uncertainty_ns) {
      bound_ns =
          std::min(bound_ns, std::abs(shown_ns - between.offset_ns) + *between.uncertainty_ns);
    }
  }
  return std::llround(std::ceil(bound_ns));
}

std::optional<std::int64_t> Alignment::most_uncertainty_ns(std::uint32_t file,
                                                           std::uint32_t other) const {
  const HostOffset& here = hosts_[host_of_file_[file]];
  const HostOffset& there = hosts_[host_of_file_[other]];
  if (&here == &there) {
    return 0;
  }
  if (!here.is_bounded || !there.is_bounded) {
    return std::nullopt;
  }
  return here.most_uncertainty_ns + there.most_uncertainty_ns;
}

namespace {

match::CommonClock clock_of(const Alignment& alignment, std::int64_t unknown_ns) {
  return {[&alignment](std::uint32_t file, std::int64_t time_ns) {
            return alignment.to_common_ns(file, time_ns);
          },
          [&alignment, unknown_ns](std::uint32_t file, std::uint32_t other) {
            return alignment.most_uncertainty_ns(file, other).value_or(unknown_ns);
          }};
}

}  // namespace

match::CommonClock clock_of(const Alignment& alignment) {
  return clock_of(alignment, kUnboundClocks_ns);
}

match::CommonClock judging_clock(const Alignment& alignment) {
  return clock_of(alignment, std::numeric_limits<std::int64_t>::max());
}

}  // namespace ringside::align
