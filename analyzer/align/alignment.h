// SPDX-License-Identifier: Apache-2.0
//
// One clock for all hosts. The offset of each host against a reference host is bounded by every
// moment that they have in common (sync_points.h); bounds reach other moments by how fast one clock
// can wander from another. What is printed as uncertainty is half the distance of the bounds, so
// the true offset is within it as long as the assumption about wandering holds. docs/metrics.md
// derives it.
#ifndef RINGSIDE_ANALYZER_ALIGN_ALIGNMENT_H
#define RINGSIDE_ANALYZER_ALIGN_ALIGNMENT_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/model/trace.h"

namespace ringside::align {

struct Bounds;
struct Grid;
struct Line;
struct SyncPoints;

/// What is known of one host's clock against the reference.
struct HostOffset {
  std::string host;
  std::uint32_t files = 0;
  bool is_reference = false;
  bool is_bounded = false;          ///< false: nothing in common; its CLOCK_REALTIME is believed
  std::int64_t at_ns = 0;           ///< since the epoch, by its own clock: when offset_ns is meant
  std::int64_t offset_ns = 0;       ///< add to its clock, in the middle of what it has in common
  double drift_ppb = 0;             ///< how fast that grows
  std::int64_t uncertainty_ns = 0;  ///< median over time
  std::int64_t most_uncertainty_ns = 0;
  std::string set_by;  ///< which points bound it: "AllReduce", "network steps"
};

/// Times of files on the common clock. Copies are cheap to make of a const one only: pass by
/// reference. Thread-safe once made.
class Alignment {
 public:
  /// Every host's CLOCK_REALTIME as it is (--no-align). Uncertainties are not known then.
  static Alignment none(const model::Traces& traces);
  static Alignment estimate(const model::Traces& traces);

  /// Nanoseconds since the epoch on the common clock.
  std::int64_t to_common_ns(std::uint32_t file, std::int64_t time_ns) const;

  /// How far a difference between times of two files, at about that common time, may be from the
  /// truth; nothing if it is not known. 0 within a host.
  std::optional<std::int64_t> uncertainty_ns(std::uint32_t file, std::uint32_t other,
                                             std::int64_t common_ns) const;

  /// The part of one file in that: the uncertainty of two on different hosts is the sum of both.
  std::optional<std::int64_t> own_uncertainty_ns(std::uint32_t file, std::int64_t common_ns) const;

  /// The most of that over the time of the operations that they have in common with others.
  std::optional<std::int64_t> most_uncertainty_ns(std::uint32_t file, std::uint32_t other) const;

  bool is_aligned() const { return is_aligned_; }
  const std::vector<HostOffset>& hosts() const { return hosts_; }
  std::uint32_t host_of(std::uint32_t file) const { return host_of_file_[file]; }
  std::uint32_t points() const { return points_; }
  std::uint64_t untrusted() const { return untrusted_; }
  /// How fast a clock is assumed to wander from its mean rate at most.
  double wander_ppm() const { return wander_ppm_; }
  /// Sentences on what limits it.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  struct Curve {
    double slope = 0;  // of the mean drift, per ns
    double at_zero_ns = 0;
    std::vector<double> offset_ns;       // by cell, beside the line
    std::vector<double> uncertainty_ns;  // by cell; empty: not bounded
  };
  struct Bound {
    double offset_ns = 0;
    std::optional<double> uncertainty_ns;
  };
  void take(std::uint32_t host, bool is_reference, const Bounds& bounds, const Line& line,
            const Grid& grid, const SyncPoints& points);
  Bound at(std::uint32_t host, double since_zero_ns) const;

  bool is_aligned_ = false;
  std::vector<HostOffset> hosts_;
  std::vector<std::uint32_t> host_of_file_;
  std::vector<std::int64_t> since_epoch_ns_;
  std::vector<Curve> curves_;
  std::int64_t zero_ns_ = 0;
  double begin_ns_ = 0;
  double cell_ns_ = 1;
  double wander_ppm_ = 0;
  std::uint32_t points_ = 0;
  std::uint64_t untrusted_ = 0;
  std::vector<std::string> notes_;
};

}  // namespace ringside::align

#endif  // RINGSIDE_ANALYZER_ALIGN_ALIGNMENT_H
