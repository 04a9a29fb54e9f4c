// SPDX-License-Identifier: Apache-2.0
#include "analyzer/align/alignment.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "analyzer/align/bounds.h"
#include "analyzer/align/host_clocks.h"
#include "analyzer/align/sync_points.h"

namespace ringside::align {
namespace {

// The kernel never corrects a clock by more than 500 ppm; two of them may differ by twice that.
constexpr double kMostWander = 1000e-6;
// Beside its mean rate a clock wanders with the temperature, by a few ppm. Where the points
// contradict that, more is assumed.
constexpr double kUsualWander = 20e-6;

std::uint32_t most_touched(const SyncPoints& points, std::size_t hosts) {
  std::vector<std::uint64_t> touches(hosts, 0);
  for (const Touch& touch : points.touches) {
    ++touches[touch.host];
  }
  return static_cast<std::uint32_t>(std::max_element(touches.begin(), touches.end()) -
                                    touches.begin());
}

// Through the middle of the bounds, the narrow ones counting most.
Line fit(const Bounds& bounds, const Grid& grid) {
  double weight = 0;
  double time = 0;
  double offset = 0;
  const auto each = [&](const auto& visit) {
    for (std::size_t i = 0; i < grid.cells; ++i) {
      if (bounds.is_bounded(i)) {
        const double half_ns = (bounds.upper_ns[i] - bounds.lower_ns[i]) / 2;
        visit(grid.center_ns(i), bounds.lower_ns[i] + half_ns, 1 / (half_ns * half_ns + 1));
      }
    }
  };
  each([&](double time_ns, double offset_ns, double w) {
    weight += w;
    time += w * time_ns;
    offset += w * offset_ns;
  });
  if (weight == 0) {
    return {};
  }
  time /= weight;
  offset /= weight;
  double covariance = 0;
  double variance = 0;
  each([&](double time_ns, double offset_ns, double w) {
    covariance += w * (time_ns - time) * (offset_ns - offset);
    variance += w * (time_ns - time) * (time_ns - time);
  });
  const double slope =
      variance > 0 ? std::clamp(covariance / variance, -kMostWander, kMostWander) : 0.0;
  return {offset - slope * time, slope};
}

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::string kinds_text(const Bounds& bounds, const std::vector<std::size_t>& cells) {
  std::array<std::size_t, kPointKinds> counts{};
  for (const std::size_t cell : cells) {
    ++counts[static_cast<std::size_t>(bounds.lower_by[cell])];
    ++counts[static_cast<std::size_t>(bounds.upper_by[cell])];
  }
  std::string text;
  for (std::size_t i = 0; i < kPointKinds; ++i) {
    // Kinds that set few of the bounds are not worth their words.
    if (counts[i] * 10 >= cells.size() * 2) {
      text += (text.empty() ? "" : ", ") + std::string(point_kind_name(static_cast<PointKind>(i)));
    }
  }
  return text;
}

std::string percent_free(double ppm) {
  return std::to_string(static_cast<int>(std::lround(ppm)));
}

}  // namespace

Alignment Alignment::none(const model::Traces& traces) {
  const HostClocks clocks = find_host_clocks(traces);
  Alignment made;
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

Alignment Alignment::estimate(const model::Traces& traces) {
  Alignment made = none(traces);
  const HostClocks clocks = find_host_clocks(traces);
  const std::size_t hosts = clocks.hosts.size();
  made.is_aligned_ = true;
  if (hosts < 2) {
    return made;
  }
  const SyncPoints points = find_sync_points(traces, clocks);
  made.zero_ns_ = points.zero_ns;
  made.points_ = points.points;
  made.untrusted_ = points.untrusted;
  const std::uint32_t reference = most_touched(points, hosts);
  for (std::size_t i = 0; i < hosts; ++i) {
    made.hosts_[i].is_reference = i == reference;
  }
  const Grid grid = make_grid(points);
  made.cell_ns_ = grid.cell_ns;
  std::vector<Line> lines(hosts);
  const Solution coarse = propagate(points, grid, lines, reference, kMostWander);
  Solution solution;
  solution.is_contradictory = true;
  double wander = kUsualWander;
  if (!coarse.is_contradictory) {
    for (std::size_t i = 0; i < hosts; ++i) {
      lines[i] = i == reference ? Line{} : fit(coarse.hosts[i], grid);
    }
    for (; solution.is_contradictory && wander <= kMostWander; wander *= 2) {
      solution = propagate(points, grid, lines, reference, wander);
    }
    wander /= 2;
  }
  if (solution.is_contradictory) {
    made.notes_.push_back(
        "the operations contradict each other about the clocks: some are not matched rightly, or a "
        "clock jumped; every host's own CLOCK_REALTIME is believed");
    return made;
  }
  made.wander_ppm_ = wander * 1e6;
  if (wander > kUsualWander) {
    made.notes_.push_back("clocks wander by up to " + percent_free(made.wander_ppm_) +
                          " ppm around their mean rate here, more than is usual");
  }
  made.begin_ns_ = grid.begin_ns;
  for (std::uint32_t i = 0; i < hosts; ++i) {
    made.take(i, i == reference, solution.hosts[i], lines[i], grid, points);
  }
  return made;
}

void Alignment::take(std::uint32_t host, bool is_reference, const Bounds& bounds, const Line& line,
                     const Grid& grid, const SyncPoints& points) {
  HostOffset& facts = hosts_[host];
  Curve& curve = curves_[host];
  if (is_reference) {
    facts.is_bounded = true;
    curve.uncertainty_ns.assign(grid.cells, 0.0);
    curve.offset_ns.assign(grid.cells, 0.0);
    return;
  }
  if (!bounds.is_bounded(0)) {
    notes_.push_back(facts.host +
                     " has no operation in common with the others that bounds its clock");
    return;
  }
  curve.at_zero_ns = line.at_zero_ns;
  curve.slope = line.slope;
  std::vector<std::size_t> touched;
  for (const Touch& touch : points.touches) {
    const double time_ns = std::isfinite(touch.start_ns) ? touch.start_ns : touch.end_ns;
    if (touch.host == host && std::isfinite(time_ns)) {
      touched.push_back(grid.cell_of(time_ns));
    }
  }
  std::sort(touched.begin(), touched.end());
  touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
  for (std::size_t i = 0; i < grid.cells; ++i) {
    const double half_ns = (bounds.upper_ns[i] - bounds.lower_ns[i]) / 2;
    curve.offset_ns.push_back(bounds.lower_ns[i] + half_ns);
    curve.uncertainty_ns.push_back(std::max(half_ns, 0.0) + wander_ppm_ * 1e-6 * cell_ns_ / 2);
  }
  std::vector<double> seen_ns;
  seen_ns.reserve(touched.size());
  for (const std::size_t cell : touched) {
    seen_ns.push_back(curve.uncertainty_ns[cell]);
  }
  if (seen_ns.empty()) {
    seen_ns = curve.uncertainty_ns;
  }
  facts.is_bounded = true;
  facts.drift_ppb = line.slope * 1e9;
  facts.most_uncertainty_ns = std::llround(*std::max_element(seen_ns.begin(), seen_ns.end()));
  facts.uncertainty_ns = std::llround(median_of(std::move(seen_ns)));
  const std::size_t middle = touched.empty() ? grid.cells / 2 : touched[touched.size() / 2];
  facts.at_ns = zero_ns_ + std::llround(grid.center_ns(middle));
  facts.offset_ns = std::llround(line.at(grid.center_ns(middle)) + curve.offset_ns[middle]);
  facts.set_by = kinds_text(bounds, touched);
}

Alignment::Bound Alignment::at(std::uint32_t host, double since_zero_ns) const {
  const Curve& curve = curves_[host];
  const double line_ns = curve.at_zero_ns + curve.slope * since_zero_ns;
  if (curve.offset_ns.empty()) {
    return {line_ns, std::nullopt};
  }
  // Between the centers of two cells along a line; beyond the ends the clock may wander on.
  const auto last = static_cast<double>(curve.offset_ns.size() - 1);
  const double cell = (since_zero_ns - begin_ns_) / cell_ns_ - 0.5;
  const double inside = std::clamp(cell, 0.0, last);
  const auto left = static_cast<std::size_t>(inside);
  const std::size_t right = std::min(left + 1, curve.offset_ns.size() - 1);
  const double part = inside - static_cast<double>(left);
  const auto between = [&](const std::vector<double>& values) {
    return values[left] + (values[right] - values[left]) * part;
  };
  const double beyond_ns =
      hosts_[host].is_reference ? 0.0 : std::abs(cell - inside) * cell_ns_ * wander_ppm_ * 1e-6;
  return {line_ns + between(curve.offset_ns), between(curve.uncertainty_ns) + beyond_ns};
}

std::int64_t Alignment::to_common_ns(std::uint32_t file, std::int64_t time_ns) const {
  constexpr std::int64_t kMost_ns = std::int64_t{1} << 60;
  const std::int64_t own_ns =
      since_epoch_ns_[file] + std::clamp<std::int64_t>(time_ns, -kMost_ns, kMost_ns);
  const Bound bound = at(host_of_file_[file], static_cast<double>(own_ns - zero_ns_));
  return own_ns + std::llround(std::clamp(bound.offset_ns, -1e18, 1e18));
}

std::optional<std::int64_t> Alignment::uncertainty_ns(std::uint32_t file, std::uint32_t other,
                                                      std::int64_t common_ns) const {
  const std::uint32_t host = host_of_file_[file];
  const std::uint32_t there = host_of_file_[other];
  if (host == there) {
    return 0;
  }
  const auto since_zero_ns = static_cast<double>(common_ns - zero_ns_);
  const auto here_ns = at(host, since_zero_ns).uncertainty_ns;
  const auto there_ns = at(there, since_zero_ns).uncertainty_ns;
  if (!here_ns || !there_ns) {
    return std::nullopt;
  }
  return std::llround(std::ceil(*here_ns + *there_ns));
}

std::optional<std::int64_t> Alignment::own_uncertainty_ns(std::uint32_t file,
                                                          std::int64_t common_ns) const {
  const auto own_ns =
      at(host_of_file_[file], static_cast<double>(common_ns - zero_ns_)).uncertainty_ns;
  return own_ns ? std::optional<std::int64_t>(std::llround(std::ceil(*own_ns))) : std::nullopt;
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

}  // namespace ringside::align
