// SPDX-License-Identifier: Apache-2.0
//
// A GPU's clock against the time line.
//
// Each callback that brings a GPU stamp g arrives at host time h = true host time of g + lateness,
// with a lateness that is never negative and now and then small. The points (g, h - g) therefore
// lie on or above the line that is sought, and the lower convex hull of them touches it. Of the
// hull, the edge over the middle of the stretch is the line that has the least total distance to
// all points (Zhang, Liu and Xia, INFOCOM 2002). Points are thinned to the lowest of each 100 ms,
// and those older than five minutes are dropped, so that a slow change of the drift is followed.
//
// A stamp that lies ahead would pull the line down for all that follows. So a sample is believed
// only if two others, with other stamps, agree with it to ten milliseconds and the likely drift.
// What lies below the line and is not believed is counted. Where the believed samples have jumped
// by more than any drift, the GPU's clock was set, and what was before is dropped. Used by one
// thread.
#ifndef RINGSIDE_PLUGIN_ASSEMBLE_GPU_CLOCK_H
#define RINGSIDE_PLUGIN_ASSEMBLE_GPU_CLOCK_H

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
  std::uint64_t unconfirmed = 0;  ///< of these, ahead of the line and not believed

  std::int64_t host_ns(std::uint64_t gpu_ns) const;
  /// By how much host_ns() may be too early: by no more than the drift that is not in the fit has
  /// added since the stamp that the line goes through. That stamp itself came late, never early.
  std::int64_t early_error_ns(std::uint64_t gpu_ns) const;
};

class GpuClock {
 public:
  /// A stamp and the host time at which the callback brought it.
  void add(std::uint64_t gpu_ns, std::int64_t host_ns);

  /// What was learnt before: stands until samples of its own give a line that lies lower.
  void seed(const GpuClockFit& fit) {
    seed_ = fit;
    fit_ = fit;
  }

  bool known() const { return seed_.samples + samples_ != 0; }

  /// The line over all points so far. Only if known().
  const GpuClockFit& fit();

 private:
  struct Point {
    std::uint64_t gpu_ns;
    std::int64_t host_ns;
    std::int64_t difference_ns;  // host - gpu, modulo 2^64
  };
  struct Bin {
    std::int64_t number;
    std::array<Point, 4> lowest;  // of different stamps, the lowest first
    std::size_t count = 0;
    std::size_t believed = 4;  // index of the lowest that is; 4: none
    bool is_believed() const { return believed < count; }
    const Point& point() const { return lowest[believed]; }
  };
  bool is_confirmed(const Point& point) const;
  void confirm(Bin& bin) const;
  void count_unconfirmed(const Bin& bin);
  void forget_before_step();
  Point likely_lowest() const;
  void compute();

  std::deque<Bin> bins_;  // by host time
  bool has_line_ = false;
  std::uint64_t unconfirmed_ = 0;
  GpuClockFit fit_;
  GpuClockFit seed_;  // samples 0: none
  std::uint64_t samples_ = 0;
  bool stale_ = false;
};

}  // namespace ringside::assemble

#endif  // RINGSIDE_PLUGIN_ASSEMBLE_GPU_CLOCK_H
