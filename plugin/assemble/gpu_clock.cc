// SPDX-License-Identifier: Apache-2.0
#include "plugin/assemble/gpu_clock.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace ringside::assemble {
namespace {

constexpr std::uint64_t kBin_ns = 100'000'000;
constexpr std::uint64_t kHorizon_ns = 300'000'000'000;
// Below this length a slope says more about lateness, some tens of microseconds, than about drift.
constexpr std::uint64_t kLeastSpan_ns = 10'000'000'000;
// Oscillators of GPUs and hosts differ by parts in a million; more is an artefact.
constexpr double kMostDrift = 2e-4;
constexpr double kLikelyDrift = 1e-4;

}  // namespace

std::int64_t GpuClockFit::host_ns(std::uint64_t gpu_ns) const {
  const auto since = static_cast<std::int64_t>(gpu_ns - gpu_ref_ns);
  return ts_ref_ns + since + std::llround(static_cast<double>(since) * drift);
}

std::int64_t GpuClockFit::early_error_ns(std::uint64_t gpu_ns) const {
  constexpr std::int64_t kLeast_ns = 50'000;
  constexpr double kMostDrifted_ns = 1e6;
  const auto since = static_cast<std::int64_t>(gpu_ns - gpu_ref_ns);
  const double drifted_ns = std::abs(static_cast<double>(since)) * kLikelyDrift;
  return kLeast_ns + static_cast<std::int64_t>(std::min(drifted_ns, kMostDrifted_ns));
}

void GpuClock::add(std::uint64_t gpu_ns, std::int64_t host_ns) {
  const Point point{gpu_ns,
                    static_cast<std::int64_t>(static_cast<std::uint64_t>(host_ns) - gpu_ns)};
  ++samples_;
  // Stamps come almost in order; a late one is filed where it belongs.
  auto at = points_.end();
  while (at != points_.begin() && (at - 1)->gpu_ns / kBin_ns > gpu_ns / kBin_ns) {
    --at;
  }
  if (at != points_.begin() && (at - 1)->gpu_ns / kBin_ns == gpu_ns / kBin_ns) {
    Point& lowest = *(at - 1);
    if (point.difference_ns >= lowest.difference_ns) {
      return;
    }
    lowest = point;
  } else {
    points_.insert(at, point);
  }
  stale_ = true;
  while (points_.back().gpu_ns - points_.front().gpu_ns > kHorizon_ns) {
    points_.pop_front();
  }
}

const GpuClockFit& GpuClock::fit() {
  if (stale_ && !points_.empty()) {
    compute();
    stale_ = false;
  }
  fit_.samples = seed_.samples + samples_;
  return fit_;
}

void GpuClock::compute() {
  const Point& origin = points_.front();
  const std::uint64_t span_ns = points_.back().gpu_ns - origin.gpu_ns;
  auto lowest = std::min_element(
      points_.begin(), points_.end(),
      [](const Point& a, const Point& b) { return a.difference_ns < b.difference_ns; });
  Point anchor = *lowest;
  double drift = 0;
  if (span_ns >= kLeastSpan_ns) {
    struct Vertex {
      double x, y;
      std::size_t index;
    };
    std::vector<Vertex> hull;
    for (std::size_t i = 0; i < points_.size(); ++i) {
      const Vertex next{static_cast<double>(points_[i].gpu_ns - origin.gpu_ns),
                        static_cast<double>(points_[i].difference_ns - origin.difference_ns), i};
      while (hull.size() >= 2) {
        const Vertex& a = hull[hull.size() - 2];
        const Vertex& b = hull.back();
        if ((b.x - a.x) * (next.y - a.y) - (b.y - a.y) * (next.x - a.x) > 0) {
          break;
        }
        hull.pop_back();
      }
      hull.push_back(next);
    }
    const double middle = static_cast<double>(span_ns) / 2;
    for (std::size_t i = 1; i < hull.size(); ++i) {
      if (hull[i].x >= middle) {
        const Vertex& a = hull[i - 1];
        const double slope = (hull[i].y - a.y) / (hull[i].x - a.x);
        const bool long_enough = hull[i].x - a.x >= static_cast<double>(kLeastSpan_ns) / 2;
        if (long_enough && std::abs(slope) <= kMostDrift) {
          drift = slope;
          anchor = points_[a.index];
        }
        break;
      }
    }
  }
  fit_.gpu_ref_ns = anchor.gpu_ns;
  fit_.ts_ref_ns =
      static_cast<std::int64_t>(anchor.gpu_ns + static_cast<std::uint64_t>(anchor.difference_ns));
  fit_.drift = drift;
  const std::uint64_t last = points_.back().gpu_ns;
  if (seed_.samples != 0 && seed_.host_ns(last) <= fit_.host_ns(last)) {
    fit_ = seed_;
  }
}

}  // namespace ringside::assemble
