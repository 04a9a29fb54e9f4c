// SPDX-License-Identifier: Apache-2.0
#include "analyzer/align/offset_curve.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ringside::align {
namespace {

constexpr double kCell_ns = 1e8;
constexpr double kLeastCells = 1024;
constexpr double kMostCells = 8e6;

}  // namespace

OffsetCurve OffsetCurve::zero() {
  OffsetCurve made;
  made.time_ns_ = {0.0};
  made.offset_ns_ = {0.0};
  made.uncertainty_ns_ = {0.0};
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
  for (std::size_t i = 0; i < moments_ns.size(); ++i) {
    const double half_ns = (drawn.upper_ns[i] - drawn.lower_ns[i]) / 2;
    offset_ns_.push_back(drawn.lower_ns[i] + half_ns);
    uncertainty_ns_.push_back(std::max(half_ns, 0.0));
  }
  time_ns_ = std::move(moments_ns);
  wander_ = wander;
  rate_ = (drawn.mean.least + drawn.mean.most) / 2;
  rate_uncertainty_ = (drawn.mean.most - drawn.mean.least) / 2 + wander;
}

OffsetAt OffsetCurve::at(double time_ns) const {
  if (time_ns_.empty()) {
    return {};
  }
  const auto after = static_cast<std::size_t>(
      std::upper_bound(time_ns_.begin(), time_ns_.end(), time_ns) - time_ns_.begin());
  if (after == 0 || after == time_ns_.size()) {
    const std::size_t end = after == 0 ? 0 : after - 1;
    const double beyond_ns = time_ns - time_ns_[end];
    return {offset_ns_[end] + beyond_ns * rate_,
            uncertainty_ns_[end] + std::abs(beyond_ns) * rate_uncertainty_};
  }
  const double gap_ns = time_ns_[after] - time_ns_[after - 1];
  const double part = (time_ns - time_ns_[after - 1]) / gap_ns;
  const auto between = [&](const std::vector<double>& values) {
    return values[after - 1] + (values[after] - values[after - 1]) * part;
  };
  // So far may a path of rates within twice the wander be off the straight line between its ends.
  const double off_ns = 2 * wander_ * part * (1 - part) * gap_ns;
  return {between(offset_ns_), between(uncertainty_ns_) + off_ns};
}

}  // namespace ringside::align
