// SPDX-License-Identifier: Apache-2.0
#include "analyzer/align/offset_curve.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace ringside::align {
namespace {

constexpr double kCell_ns = 1e8;
constexpr double kLeastCells = 1024;
constexpr double kMostCells = 8e6;

}  // namespace

OffsetCurve OffsetCurve::zero() {
  OffsetCurve made;
  made.moments_.emplace_back();
  return made;
}

OffsetCurve::OffsetCurve(const HostPath& path, std::size_t hosts, double wander) {
  if (!path.is_bounded()) {
    return;
  }
  const double begin_ns = path.time_ns.front();
  const double passed_ns = path.time_ns.back() - begin_ns;
  const double cell_ns = std::max({std::min(kCell_ns, passed_ns / kLeastCells),
                                   passed_ns * static_cast<double>(hosts) / kMostCells, 1.0});
  std::vector<double> moments_ns;
  double next_cell = 0;
  for (const double time_ns : path.time_ns) {
    const double cell = std::floor((time_ns - begin_ns) / cell_ns);
    for (next_cell = std::max(next_cell, cell); next_cell <= cell + 1; ++next_cell) {
      moments_ns.push_back(begin_ns + next_cell * cell_ns);
    }
  }
  const HostPath drawn = at_moments(path, moments_ns, wander);
  if (!drawn.is_bounded()) {
    return;
  }
  moments_.reserve(moments_ns.size());
  for (std::size_t i = 0; i < moments_ns.size(); ++i) {
    const double half_ns = (drawn.upper_ns[i] - drawn.lower_ns[i]) / 2;
    moments_.push_back({moments_ns[i], drawn.lower_ns[i] + half_ns, std::max(half_ns, 0.0)});
  }
  const double drawn_ns = moments_.back().time_ns - moments_.front().time_ns;
  moments_per_ns_ = drawn_ns > 0 ? static_cast<double>(moments_.size() - 1) / drawn_ns : 0;
  wander_ = wander;
  rate_ = (drawn.mean.least + drawn.mean.most) / 2;
  rate_uncertainty_ = (drawn.mean.most - drawn.mean.least) / 2 + wander;
}

// Returns the index of the first moment after `time_ns`. Most moments are equally far apart, so it
// is looked for first where it would be if all were.
std::size_t OffsetCurve::first_after(double time_ns) const {
  const double place = (time_ns - moments_.front().time_ns) * moments_per_ns_;
  if (place >= 0 && place + 1 < static_cast<double>(moments_.size())) {
    const auto guess = static_cast<std::size_t>(place) + 1;
    if (moments_[guess - 1].time_ns <= time_ns && time_ns < moments_[guess].time_ns) {
      return guess;
    }
  }
  return static_cast<std::size_t>(std::upper_bound(moments_.begin(), moments_.end(), time_ns,
                                                   [](double wanted_ns, const Moment& moment) {
                                                     return wanted_ns < moment.time_ns;
                                                   }) -
                                  moments_.begin());
}

double OffsetCurve::offset_ns(double time_ns) const {
  const std::size_t after = first_after(time_ns);
  if (after == 0 || after == moments_.size()) {
    const Moment& end = moments_[after == 0 ? 0 : after - 1];
    return end.offset_ns + (time_ns - end.time_ns) * rate_;
  }
  const Moment& from = moments_[after - 1];
  const Moment& to = moments_[after];
  const double part = (time_ns - from.time_ns) / (to.time_ns - from.time_ns);
  return from.offset_ns + (to.offset_ns - from.offset_ns) * part;
}

OffsetAt OffsetCurve::at(double time_ns) const {
  if (moments_.empty()) {
    return {};
  }
  const std::size_t after = first_after(time_ns);
  if (after == 0 || after == moments_.size()) {
    const Moment& end = moments_[after == 0 ? 0 : after - 1];
    const double beyond_ns = time_ns - end.time_ns;
    return {end.offset_ns + beyond_ns * rate_,
            end.uncertainty_ns + std::abs(beyond_ns) * rate_uncertainty_};
  }
  const Moment& from = moments_[after - 1];
  const Moment& to = moments_[after];
  const double gap_ns = to.time_ns - from.time_ns;
  const double part = (time_ns - from.time_ns) / gap_ns;
  // So far may a path of rates within twice the wander be off the straight line between its ends.
  const double off_ns = 2 * wander_ * part * (1 - part) * gap_ns;
  return {from.offset_ns + (to.offset_ns - from.offset_ns) * part,
          from.uncertainty_ns + (to.uncertainty_ns - from.uncertainty_ns) * part + off_ns};
}

void SteppedCurve::add(OffsetCurve curve, double begin_ns, double end_ns, bool is_reported) {
  pieces_.push_back({std::move(curve), begin_ns, end_ns, is_reported});
}

// A piece that nothing bounds is put where the nearest one is that something does.
OffsetAt SteppedCurve::of_piece(std::size_t piece, double time_ns) const {
  const auto distance = [&](std::size_t i) { return i > piece ? i - piece : piece - i; };
  std::size_t nearest = pieces_.size();
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    if (pieces_[i].curve.is_bounded() &&
        (nearest == pieces_.size() || distance(i) < distance(nearest))) {
      nearest = i;
    }
  }
  if (nearest == pieces_.size()) {
    return {};
  }
  const OffsetAt known = pieces_[nearest].curve.at(time_ns);
  return nearest == piece ? known : OffsetAt{known.offset_ns, std::nullopt};
}

OffsetAt SteppedCurve::at(double time_ns) const {
  std::size_t after = 0;
  while (after < pieces_.size() && pieces_[after].begin_ns <= time_ns) {
    ++after;
  }
  if (after == 0) {
    return pieces_.empty() ? OffsetAt() : of_piece(0, time_ns);
  }
  if (after == pieces_.size() || time_ns <= pieces_[after - 1].end_ns) {
    return of_piece(after - 1, time_ns);
  }
  return within_step(after, time_ns);
}

std::optional<std::pair<double, double>> SteppedCurve::either_ns(std::size_t after,
                                                                 double time_ns) const {
  const OffsetAt before = of_piece(after - 1, time_ns);
  const OffsetAt behind = of_piece(after, time_ns);
  if (!before.uncertainty_ns || !behind.uncertainty_ns) {
    return std::nullopt;
  }
  return std::pair(std::min(before.offset_ns - *before.uncertainty_ns,
                            behind.offset_ns - *behind.uncertainty_ns),
                   std::max(before.offset_ns + *before.uncertainty_ns,
                            behind.offset_ns + *behind.uncertainty_ns));
}

OffsetAt SteppedCurve::within_step(std::size_t after, double time_ns) const {
  const double begin_ns = pieces_[after - 1].end_ns;
  const double end_ns = pieces_[after].begin_ns;
  const OffsetAt first = of_piece(after - 1, begin_ns);
  const OffsetAt last = of_piece(after, end_ns);
  if (!first.uncertainty_ns || !last.uncertainty_ns) {
    return {first.offset_ns, std::nullopt};
  }
  // A clock that steps does not go back, so it was between these two moments.
  double lower_ns = begin_ns + first.offset_ns - *first.uncertainty_ns;
  double upper_ns = end_ns + last.offset_ns + *last.uncertainty_ns;
  if (!pieces_[after].is_reported) {
    const auto either = *either_ns(after, time_ns);
    lower_ns = std::max(lower_ns, time_ns + either.first);
    upper_ns = std::min(upper_ns, time_ns + either.second);
  }
  return {(lower_ns + upper_ns) / 2 - time_ns, std::abs(upper_ns - lower_ns) / 2};
}

// The bounds of each piece widen from its end on, so they are widest at either end of the step.
std::optional<double> SteppedCurve::most_before_ns(std::size_t piece) const {
  const auto first = either_ns(piece, pieces_[piece - 1].end_ns);
  const auto last = either_ns(piece, pieces_[piece].begin_ns);
  if (!first || !last) {
    return std::nullopt;
  }
  return std::max(first->second - first->first, last->second - last->first) / 2;
}

double SteppedCurve::offset_ns(double time_ns) const {
  const bool is_one = pieces_.size() == 1 && pieces_.front().curve.is_bounded();
  return is_one ? pieces_.front().curve.offset_ns(time_ns) : at(time_ns).offset_ns;
}

double SteppedCurve::own_ns(double common_ns) const {
  double own_ns = common_ns;
  for (std::size_t i = pieces_.size(); i-- > 0;) {
    const Piece& piece = pieces_[i];
    // The offset changes by far less than time passes, so one at a time nearby will do.
    const double near_ns = common_ns - of_piece(i, common_ns).offset_ns;
    own_ns = common_ns - of_piece(i, near_ns).offset_ns;
    if (own_ns > piece.end_ns) {
      // The uncertainty is greatest there.
      return (piece.end_ns + pieces_[i + 1].begin_ns) / 2;
    }
    if (own_ns >= piece.begin_ns) {
      break;
    }
  }
  return own_ns;
}

}  // namespace ringside::align
