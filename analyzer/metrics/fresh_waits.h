// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_ANALYZER_METRICS_FRESH_WAITS_H
#define RINGSIDE_ANALYZER_METRICS_FRESH_WAITS_H

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "analyzer/facts/interval.h"
#include "analyzer/facts/rank_times.h"

namespace ringside::metrics {

/// A rank can wait in several operations at once: in those of a group, which run as one kernel, and
/// in those of several streams. This tells how much of each wait is not within earlier ones, so
/// that each moment of a rank counts once. Takes operations in the order of their last arrivals.
class FreshWaits {
 public:
  explicit FreshWaits(std::size_t ranks) : ranks_(ranks) {}

  /// The communicator in which a rank may have waited, and the rank that it may have waited for.
  struct Place {
    std::uint32_t communicator = 0;
    std::optional<std::uint32_t> partner;  // the other rank of a pair, or the root; else any rank

    bool operator==(const Place& other) const = default;
  };

  /// `wait`: what that rank waited in an operation of that place, in which its times are `row`.
  /// Returns the part of it that is surely beyond all before, and the most that may be: beyond what
  /// it may have waited in the same place.
  facts::Interval take(std::uint32_t rank, const Place& place, const facts::RankTimes& row,
                       facts::Interval wait);

  /// The most that all ranks waited together.
  std::int64_t most_ns() const;

  template <typename Archive>
  void transfer(Archive& archive) {
    archive(ranks_, most_ns_);
  }

 private:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min();

  struct Span {
    std::int64_t from_ns = kNever;
    std::int64_t until_ns = kNever;

    std::int64_t shared_ns(const Span& other) const;
    bool touches(const Span& other) const {
      return from_ns <= other.until_ns && other.from_ns <= until_ns;
    }
    /// Takes the other one in, if they touch; else it becomes the other one.
    void join(const Span& other);
  };

  // Stamps of one communicator on one rank err alike, so its waits overlap as they seem to. It may
  // have waited for one rank in one operation and for another one in the next, in the same time:
  // what each of them may cost is not less for the other.
  struct OfPlace {
    Place place;
    Span possibly;  // the wait before, with those that it touches
  };

  struct OfRank {
    std::int64_t surely_until_ns = kNever;  // for the least, all before that counts as waited
    Span surely;                            // the wait before, with those that it touches
    std::vector<OfPlace> places;
    // The possible waits at the time of the wait before: when, and their sum over the places.
    Span possibly;
    std::int64_t sum_ns = 0;

    std::int64_t most_ns() const;
    Span& of(const Place& place);

    template <typename Archive>
    void transfer(Archive& archive) {
      archive(surely_until_ns, surely, places, possibly, sum_ns);
    }
  };

  std::vector<OfRank> ranks_;
  std::int64_t most_ns_ = 0;  // but for OfRank::most_ns()
};

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_FRESH_WAITS_H
