// SPDX-License-Identifier: Apache-2.0
//
// Fits a GPU's clock to the trace's time line.
//
// A callback that brings a GPU stamp g arrives at host time h = true host time of g + lateness. The
// lateness is never negative, and sometimes small. So the points (g, h - g) lie on or above the
// wanted line, and their lower convex hull touches it. The hull's edge over the middle of the time
// span is the line with the least total distance to all points (Zhang, Liu and Xia, INFOCOM 2002).
// Points are thinned to the lowest of each 100 ms, and points older than five minutes are dropped,
// so that the line follows a slow change of the drift.
//
// A stamp that is ahead of the clock would pull the line down for all later times. So a sample is
// believed only if two samples with other stamps agree with it, to ten milliseconds and the likely
// drift. If the believed samples leap by more than any drift, the GPU's clock was set, and older
// samples are dropped. Used by one thread.
#ifndef RINGSIDE_PLUGIN_ASSEMBLE_CLOCKS_GPU_CLOCK_H
#define RINGSIDE_PLUGIN_ASSEMBLE_CLOCKS_GPU_CLOCK_H

#include <array>
#include <cstdint>
#include <deque>

namespace ringside::assemble {

/// host_ns = ts_ref_ns + (g - gpu_ref_ns) * (1 + drift).
struct GpuClockFit {
  std::uint64_t gpu_ref_ns = 0;
  std::int64_t ts_ref_ns = 0;
  double drift = 0;
  std::uint64_t samples = 0;

  std::int64_t host_ns(std::uint64_t gpu_ns) const;
  /// The most by which host_ns() may be too early: the drift that the fit lacks, over the time
  /// since the stamp that the line goes through. The stamp itself came late, never early.
  std::int64_t early_error_ns(std::uint64_t gpu_ns) const;
};

class GpuClock {
 public:
  /// Adds a stamp and the host time at which its callback came.
  void add(std::uint64_t gpu_ns, std::int64_t host_ns);

  /// Sets an earlier fit. It is used until the samples give a lower line.
  void seed(const GpuClockFit& fit) {
    seed_ = fit;
    fit_ = fit;
  }

  bool known() const { return seed_.samples + samples_ != 0; }

  /// The line for all points so far. Requires known().
  const GpuClockFit& fit();

 private:
  struct Point {
    std::uint64_t gpu_ns;
    std::int64_t host_ns;
    std::int64_t difference_ns;  // host - gpu, modulo 2^64
  };
  struct Bin {
    std::int64_t number;
    std::array<Point, 4> lowest;  // points of different stamps, the lowest first
    std::size_t count = 0;
    std::size_t believed = 4;  // index of the lowest believed point; 4: none
    bool is_believed() const { return believed < count; }
    const Point& point() const { return lowest[believed]; }
  };
  bool is_confirmed(const Point& point) const;
  void confirm(Bin& bin) const;
  void forget_before_step();
  Point likely_lowest() const;
  void compute();

  std::deque<Bin> bins_;  // by host time
  bool has_line_ = false;
  GpuClockFit fit_;
  GpuClockFit seed_;  // no seed if `samples` is 0
  std::uint64_t samples_ = 0;
  bool stale_ = false;
};

}  // namespace ringside::assemble

#endif  // RINGSIDE_PLUGIN_ASSEMBLE_CLOCKS_GPU_CLOCK_H
