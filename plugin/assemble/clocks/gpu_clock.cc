// SPDX-License-Identifier: Apache-2.0
#include "plugin/assemble/clocks/gpu_clock.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace ringside::assemble {
namespace {

constexpr std::int64_t kBin_ns = 100'000'000;
constexpr std::int64_t kHorizonBins = 3000;
// Over a shorter span, a slope shows lateness (some tens of microseconds) rather than drift.
constexpr std::int64_t kLeastSpan_ns = 10'000'000'000;
// The most by which two samples that agree may differ. On a busy host the lateness of callbacks
// differs by as much, since the thread that polls must wait for a processor.
constexpr double kAgree_ns = 1e7;
constexpr std::size_t kConfirmations = 2;
// Confirmations are looked for in this many of the newest filled bins.
constexpr std::size_t kNearBins = 64;
// A larger change within the horizon is no drift: the clock was set. If it was set back, its
// samples look late at first. The change is believed once the samples of kLeastSpan_ns, in
// kStepBins bins or more, all look so.
constexpr std::int64_t kStep_ns = 100'000'000;
constexpr std::size_t kStepBins = 8;
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
  Point point{gpu_ns, host_ns,
              static_cast<std::int64_t>(static_cast<std::uint64_t>(host_ns) - gpu_ns)};
  ++samples_;
  const std::int64_t number = host_ns / kBin_ns;
  if (bins_.empty() || number > bins_.back().number) {
    if (!bins_.empty()) {
      fit();
    }
    bins_.push_back({number, {}});
  }
  Bin& bin = bins_.back();
  // Operations that share a kernel bring the same stamp. A repeated stamp confirms nothing.
  const auto begin = bin.lowest.begin();
  const auto same = std::find_if(begin, begin + static_cast<std::ptrdiff_t>(bin.count),
                                 [&](const Point& of) { return of.gpu_ns == gpu_ns; });
  if (same != begin + static_cast<std::ptrdiff_t>(bin.count)) {
    if (same->difference_ns <= point.difference_ns) {
      return;
    }
    std::move(same + 1, begin + static_cast<std::ptrdiff_t>(bin.count), same);
    --bin.count;
  }
  for (std::size_t i = 0; i < bin.count; ++i) {
    if (point.difference_ns < bin.lowest[i].difference_ns) {
      std::swap(point, bin.lowest[i]);
    }
  }
  if (bin.count < bin.lowest.size()) {
    bin.lowest[bin.count++] = point;
  }
  stale_ = true;
  while (number - bins_.front().number > kHorizonBins) {
    bins_.pop_front();
  }
}

bool GpuClock::is_confirmed(const Point& point) const {
  std::size_t others = 0;
  std::size_t left = kNearBins;
  for (auto bin = bins_.rbegin(); bin != bins_.rend() && left > 0; ++bin, --left) {
    for (std::size_t i = 0; i < bin->count; ++i) {
      const Point& other = bin->lowest[i];
      const auto apart_ns = static_cast<double>(std::abs(other.host_ns - point.host_ns));
      const auto differ_ns = static_cast<double>(other.difference_ns - point.difference_ns);
      others += other.gpu_ns != point.gpu_ns &&
                std::abs(differ_ns) <= kAgree_ns + apart_ns * kLikelyDrift;
    }
    if (others >= kConfirmations) {
      return true;
    }
  }
  return false;
}

void GpuClock::confirm(Bin& bin) const {
  bin.believed = 0;
  while (bin.believed < bin.count && !is_confirmed(bin.lowest[bin.believed])) {
    ++bin.believed;
  }
}

const GpuClockFit& GpuClock::fit() {
  if (stale_ && !bins_.empty()) {
    confirm(bins_.back());
    forget_before_step();
    compute();
    stale_ = false;
  }
  fit_.samples = seed_.samples + samples_;
  return fit_;
}

void GpuClock::forget_before_step() {
  const Bin& newest = bins_.back();
  if (!newest.is_believed()) {
    return;
  }
  constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
  std::int64_t older_ns = kNone;
  std::int64_t recent_ns = kNone;
  std::size_t recent_bins = 0;
  const std::int64_t recent_number = newest.number - kLeastSpan_ns / kBin_ns;
  for (const Bin& bin : bins_) {
    if (bin.is_believed() && &bin != &newest) {
      std::int64_t& lowest_ns = bin.number < recent_number ? older_ns : recent_ns;
      lowest_ns = std::min(lowest_ns, bin.point().difference_ns);
      recent_bins += bin.number < recent_number ? 0 : 1;
    }
  }
  const std::int64_t level_ns = newest.point().difference_ns;
  const auto is_above = [](std::int64_t ns, std::int64_t of_ns) {
    return of_ns != kNone && ns - of_ns > kStep_ns;
  };
  const bool is_forward =
      std::min(older_ns, recent_ns) != kNone && std::min(older_ns, recent_ns) - level_ns > kStep_ns;
  const bool is_back =
      recent_bins >= kStepBins && is_above(std::min(recent_ns, level_ns), older_ns);
  for (Bin& bin : bins_) {
    if (&bin != &newest && (is_forward || (is_back && bin.number < recent_number))) {
      bin.believed = bin.lowest.size();
    }
  }
  if (is_forward || is_back) {
    seed_ = {};  // the seed describes the clock before it was set
  }
}

// Returns the best guess while no sample is confirmed. A lowest sample without a near one may be
// ahead of the clock, so the second lowest is returned then. Both stamps of the first kernel are
// too few for that: if their callbacks came together, they differ by as much as it took.
GpuClock::Point GpuClock::likely_lowest() const {
  std::vector<Point> all;
  for (const Bin& bin : bins_) {
    all.insert(all.end(), bin.lowest.begin(),
               bin.lowest.begin() + static_cast<std::ptrdiff_t>(bin.count));
  }
  std::sort(all.begin(), all.end(),
            [](const Point& a, const Point& b) { return a.difference_ns < b.difference_ns; });
  const bool is_alone =
      all.size() > kConfirmations &&
      static_cast<double>(all[1].difference_ns - all[0].difference_ns) > kAgree_ns;
  return all[is_alone ? 1 : 0];
}

void GpuClock::compute() {
  std::vector<Point> points;
  for (const Bin& bin : bins_) {
    if (bin.is_believed()) {
      points.push_back(bin.point());
    }
  }
  if (points.empty() && has_line_) {
    return;  // no sample is believed any more, and the line stays
  }
  has_line_ = !points.empty();
  if (points.empty()) {
    points.push_back(likely_lowest());
  }
  const Point& origin = points.front();
  const std::int64_t span_ns = points.back().host_ns - origin.host_ns;
  const auto lowest = std::min_element(
      points.begin(), points.end(),
      [](const Point& a, const Point& b) { return a.difference_ns < b.difference_ns; });
  Point anchor = *lowest;
  double drift = 0;
  if (span_ns >= kLeastSpan_ns) {
    struct Vertex {
      double x, y;
      std::size_t index;
    };
    std::vector<Vertex> hull;
    // The hull is over host times, which continue when the GPU's clock is set.
    for (std::size_t i = 0; i < points.size(); ++i) {
      const Vertex next{static_cast<double>(points[i].host_ns - origin.host_ns),
                        static_cast<double>(points[i].difference_ns - origin.difference_ns), i};
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
          drift = slope / (1 - slope);  // per GPU time instead of host time
          anchor = points[a.index];
        }
        break;
      }
    }
  }
  fit_.gpu_ref_ns = anchor.gpu_ns;
  fit_.ts_ref_ns =
      static_cast<std::int64_t>(anchor.gpu_ns + static_cast<std::uint64_t>(anchor.difference_ns));
  fit_.drift = drift;
  const std::uint64_t last = points.back().gpu_ns;
  if (seed_.samples != 0 && seed_.host_ns(last) <= fit_.host_ns(last)) {
    fit_ = seed_;
  }
}

}  // namespace ringside::assemble
