// SPDX-License-Identifier: Apache-2.0
#include "analyzer/align/solved_clocks.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "analyzer/align/host_path.h"
#include "analyzer/align/points/hidden_steps.h"

namespace ringside::align {
namespace {

// The kernel never corrects a clock by more than 500 ppm; two of them may differ by twice that.
constexpr double kMost = 1000e-6;
// Two clocks differ in their mean rates by less than 200 ppm. If the points contradict that, or
// the usual wander, more is assumed of both.
constexpr double kUsualRate = 200e-6;

Assumption assumption_of(double wander) {
  return {std::min(kUsualRate * wander / kUsualWander, kMost), wander};
}

SolvedClocks solve_whole(const SyncPoints& points, const ClockPieces& pieces) {
  SolvedClocks solved;
  solved.reference = pieces.most_touched(points);
  for (double wander = kUsualWander;; wander = std::min(2 * wander, kMost)) {
    solved.assumption = assumption_of(wander);
    solved.solution = propagate(points, pieces.size(), solved.reference, solved.assumption);
    if (!solved.solution.is_contradictory || wander >= kMost) {
      return solved;
    }
  }
}

// Returns the least and the most by which a clock stepped between two pieces. The reference has no
// path: its offset is 0.
std::optional<std::pair<double, double>> size_of_step(const SolvedClocks& solved,
                                                      std::size_t before, std::size_t behind) {
  const HostPath& from = solved.solution.hosts[before];
  const HostPath& to = solved.solution.hosts[behind];
  const bool is_from_zero = before == solved.reference;
  const bool is_to_zero = behind == solved.reference;
  if ((!is_from_zero && !from.is_bounded()) || (!is_to_zero && !to.is_bounded())) {
    return std::nullopt;
  }
  const double from_lower_ns = is_from_zero ? 0 : from.lower_ns.back();
  const double from_upper_ns = is_from_zero ? 0 : from.upper_ns.back();
  const double to_lower_ns = is_to_zero ? 0 : to.lower_ns.front();
  const double to_upper_ns = is_to_zero ? 0 : to.upper_ns.front();
  return std::pair(to_lower_ns - from_upper_ns, to_upper_ns - from_lower_ns);
}

// Supposes that any of several clocks stepped.
class Cut {
 public:
  Cut(const std::vector<HiddenStep>& steps, const SyncPoints& points, const ClockPieces& pieces)
      : steps_(steps), points_(points), pieces_(pieces), first_(pieces.size()) {
    for (const HiddenStep& step : steps_) {
      pieces_.cut(step.piece, step.gap, points_);
    }
    solved_ = solve_whole(points_, pieces_);
  }

  bool is_contradictory() const { return solved_.solution.is_contradictory; }
  double wander() const { return solved_.assumption.wander; }

  bool leaves_nothing_unknown() const {
    bool is_known = true;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      is_known = is_known && size_ns(i);
    }
    return is_known;
  }

  // The steps that no drift explains.
  std::vector<HiddenStep> needed() const {
    std::vector<HiddenStep> found;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const auto step_ns = size_ns(i);
      const double drift_ns = kMost * (steps_[i].gap.end_ns - steps_[i].gap.begin_ns);
      if (step_ns && (step_ns->first > drift_ns || step_ns->second < -drift_ns)) {
        found.push_back(steps_[i]);
      }
    }
    return found;
  }

  // Widens what clocks may do beside their steps.
  void assume(const Assumption& assumption) {
    solved_.assumption = assumption;
    solved_.solution = propagate(points_, pieces_.size(), solved_.reference, assumption);
  }

  SolvedClocks take(SyncPoints& points, ClockPieces& pieces) {
    points = std::move(points_);
    pieces = std::move(pieces_);
    return std::move(solved_);
  }

 private:
  std::optional<std::pair<double, double>> size_ns(std::size_t step) const {
    return size_of_step(solved_, steps_[step].piece, first_ + step);
  }

  const std::vector<HiddenStep>& steps_;
  SyncPoints points_;
  ClockPieces pieces_;
  std::size_t first_;  // the piece behind the first step; those behind the others follow
  SolvedClocks solved_;
};

// If any of several clocks may have stepped, those that need not have are left whole.
SolvedClocks solve_contradicted(SolvedClocks whole, SyncPoints& points, ClockPieces& pieces) {
  std::vector<HiddenStep> steps = find_hidden_steps({kMost, kMost}, pieces, points);
  while (!steps.empty()) {
    Cut cut(steps, points, pieces);
    if (cut.is_contradictory() || !cut.leaves_nothing_unknown()) {
      break;
    }
    std::vector<HiddenStep> needed = cut.needed();
    if (needed.size() == steps.size()) {
      return cut.take(points, pieces);
    }
    steps = std::move(needed);
  }
  return whole;
}

// The cut and the greater assumption together allow for both explanations: for a step beside the
// usual wander, and for a greater wander without a step.
SolvedClocks allow_for_step(SolvedClocks whole, SyncPoints& points, ClockPieces& pieces) {
  std::vector<HiddenStep> steps = find_hidden_steps(assumption_of(kUsualWander), pieces, points);
  if (steps.empty()) {
    return whole;
  }
  for (HiddenStep& step : steps) {
    step.gap.source = StepSource::kPerhaps;
  }
  Cut cut(steps, points, pieces);
  if (cut.is_contradictory() || cut.wander() >= whole.assumption.wander) {
    return whole;
  }
  cut.assume(whole.assumption);
  return cut.leaves_nothing_unknown() ? cut.take(points, pieces) : whole;
}

}  // namespace

SolvedClocks solve_clocks(SyncPoints& points, ClockPieces& pieces) {
  SolvedClocks whole = solve_whole(points, pieces);
  if (whole.solution.is_contradictory) {
    return solve_contradicted(std::move(whole), points, pieces);
  }
  if (whole.assumption.wander > kUsualWander) {
    return allow_for_step(std::move(whole), points, pieces);
  }
  return whole;
}

}  // namespace ringside::align
