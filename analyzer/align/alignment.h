// SPDX-License-Identifier: Apache-2.0
//
// One clock for all hosts. The offset of each host against a reference host is bounded by every
// moment that they have in common (sync_points.h). Bounds reach other moments by what the rates of
// the clocks can be (host_path.h). The printed uncertainty is half the distance of the bounds, so
// the true offset is within it as long as the assumption about rates holds.
// docs/dev/derivations.md derives it.
#ifndef RINGSIDE_ANALYZER_ALIGN_ALIGNMENT_H
#define RINGSIDE_ANALYZER_ALIGN_ALIGNMENT_H

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/align/offset_curve.h"
#include "analyzer/align/points/stamp_errors.h"
#include "analyzer/match/calls/common_clock.h"
#include "analyzer/match/matcher.h"
#include "analyzer/model/trace.h"

namespace ringside::align {

struct Assumption;
class ClockPieces;
class ClockPrior;
struct HostClocks;
struct Solution;
struct SyncPoints;

/// By how much CLOCK_REALTIME of two hosts may differ that nothing bounds against each other.
inline constexpr std::int64_t kUnboundClocks_ns = 1'000'000'000;

/// The clock of one host against the reference, as far as it is known.
struct HostOffset {
  std::string host;
  std::uint32_t files = 0;
  bool is_reference = false;
  bool is_bounded = false;     ///< false: nothing in common; its CLOCK_REALTIME is believed
  std::int64_t at_ns = 0;      ///< since the epoch, by its own clock: when offset_ns is meant
  std::int64_t offset_ns = 0;  ///< add to its clock, at a moment of median uncertainty
  /// How fast that grows, over the time in common; nothing if it is not known to 10 ppm.
  std::optional<double> drift_ppb;
  std::int64_t uncertainty_ns = 0;  ///< median over time, and that of offset_ns
  std::int64_t most_uncertainty_ns = 0;
  std::string set_by;           ///< which points bound it: "AllReduce", "network steps"
  bool rests_on_prior = false;  ///< on what is known of clocks without any operation
  /// The sum of what its clock and the reference's may be off, if both are known and it rests on
  /// it.
  std::optional<std::int64_t> prior_ns = std::nullopt;
};

/// Times of files on the common clock. Copies are cheap to make of a const one only: pass by
/// reference. Thread-safe once made.
class Alignment {
 public:
  /// Every host's CLOCK_REALTIME as it is (--no-align). Uncertainties are not known then.
  static Alignment none(const model::Traces& traces);
  /// Aligns by what is matched by trusted numbers (match::Matching::trusted()), and by what is
  /// known of each clock's error (clock_prior.h). `clock_error_ns`: of --clock-error.
  static Alignment estimate(const model::Traces& traces, const match::Matches& trusted,
                            std::optional<std::int64_t> clock_error_ns = std::nullopt);
  /// The same, where nothing else needs what is matched.
  static Alignment estimate(const model::Traces& traces,
                            std::optional<std::int64_t> clock_error_ns = std::nullopt);

  /// Nanoseconds since the epoch on the common clock.
  std::int64_t to_common_ns(std::uint32_t file, std::int64_t time_ns) const {
    return host_to_common_ns(host_of(file), to_host_ns(file, time_ns));
  }
  /// The two steps of that: nanoseconds since the epoch by the clock of the file's host, and from
  /// there to the common clock.
  std::int64_t to_host_ns(std::uint32_t file, std::int64_t time_ns) const;
  std::int64_t host_to_common_ns(std::uint32_t host, std::int64_t host_ns) const;
  /// The offset to add to a host's clock at that common time, and how well it is known.
  OffsetAt clock_at(std::uint32_t host, std::int64_t common_ns) const;

  /// How far a difference between times of two files, at about that common time, may be from the
  /// truth; nothing if it is not known. 0 within a host, else at most the sum of what clock_at()
  /// has of both.
  std::optional<std::int64_t> uncertainty_ns(std::uint32_t file, std::uint32_t other,
                                             std::int64_t common_ns) const;

  /// The most of that over the time of the operations that they have in common with others.
  std::optional<std::int64_t> most_uncertainty_ns(std::uint32_t file, std::uint32_t other) const;

  bool is_aligned() const { return is_aligned_; }
  const std::vector<HostOffset>& hosts() const { return hosts_; }
  std::uint32_t host_of(std::uint32_t file) const { return host_of_file_[file]; }
  /// The errors of stamps on each host's own clock.
  const StampErrors& stamp_errors() const { return errors_; }
  std::uint32_t points() const { return points_; }
  std::uint64_t untrusted() const { return untrusted_; }
  /// Sentences on what limits it.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  void align(const model::Traces& traces, const HostClocks& clocks, SyncPoints points,
             std::optional<std::int64_t> clock_error_ns);
  void take(std::uint32_t host, const Solution& solution, const ClockPieces& pieces,
            std::uint32_t reference, std::vector<std::string>& notes);
  double most_at_edges_ns(std::uint32_t host, const ClockPieces& pieces) const;
  void tell_steps(std::uint32_t host, const ClockPieces& pieces, const std::string& outcome,
                  std::vector<std::string>& notes) const;
  void bound_pairs(SyncPoints points, const ClockPieces& pieces, std::uint32_t reference,
                   const Assumption& assumption, const std::vector<ClockPrior>& priors);
  void use_priors(const SyncPoints& points, const ClockPieces& pieces, std::uint32_t reference,
                  const Assumption& assumption, std::vector<ClockPrior>& priors,
                  Solution& solution);
  void drop_contradicted(const SyncPoints& points, const ClockPieces& pieces,
                         const Assumption& assumption, std::vector<ClockPrior>& priors);
  double own_ns(std::uint32_t host, std::int64_t common_ns) const;

  bool is_aligned_ = false;
  StampErrors errors_;
  std::vector<HostOffset> hosts_;
  std::vector<std::uint32_t> host_of_file_;
  std::vector<std::int64_t> since_epoch_ns_;
  std::vector<SteppedCurve> curves_;
  /// By two hosts, the second against the first; empty where that is not known apart.
  std::vector<std::vector<OffsetCurve>> pairs_;
  std::int64_t zero_ns_ = 0;
  double wander_ppm_ = 0;  // how fast a clock may wander from its mean rate
  std::uint32_t points_ = 0;
  std::uint64_t untrusted_ = 0;
  std::vector<std::string> notes_;
};

/// Returns the clock by which operations are matched. The alignment must outlive it.
match::CommonClock clock_of(const Alignment& alignment);

/// The clock by which ranks are judged (match::judge_all). If nothing bounds two clocks against
/// each other, the uncertainty is the greatest number, so nothing is concluded from them.
match::CommonClock judging_clock(const Alignment& alignment);

}  // namespace ringside::align

#endif  // RINGSIDE_ANALYZER_ALIGN_ALIGNMENT_H
