// SPDX-License-Identifier: Apache-2.0
#include "analyzer/align/points/hidden_steps.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "analyzer/align/points/tightest_points.h"

namespace ringside::align {
namespace {

// The search uses so many touches at most. A step is known to lie between two of them.
constexpr std::size_t kMostSearched = std::size_t{1} << 15;

double moment_of(const Touch& touch) {
  return touch.start_ns > kNoStart ? touch.start_ns : touch.end_ns;
}

// The first number in (least, most] of which `is_enough` is true; it is true of `most` and stays.
template <typename IsEnough>
std::size_t first_enough(std::size_t least, std::size_t most, const IsEnough& is_enough) {
  while (most - least > 1) {
    const std::size_t middle = least + (most - least) / 2;
    (is_enough(middle) ? most : least) = middle;
  }
  return most;
}

class Search {
 public:
  Search(const Assumption& assumption, const ClockPieces& pieces, SyncPoints points)
      : assumption_(assumption), pieces_(pieces), points_(std::move(points)) {}

  bool contradicts() const { return contradicts(points_); }

  // Clocks may be seconds apart, so time counts from each host's first point. This makes it too
  // early for a host that came later, so the latest of a point's hosts counts.
  void keep_shortest() {
    std::vector<double> first_ns(pieces_.size(), kNoEnd);  // by host
    for (const Touch& touch : points_.touches) {
      double& first = first_ns[pieces_[touch.host].host];
      first = std::min(first, moment_of(touch));
    }
    std::vector<double> passed_ns(points_.points, kNoStart);  // by point
    for (const Touch& touch : points_.touches) {
      double& passed = passed_ns[touch.point];
      passed = std::max(passed, moment_of(touch) - first_ns[pieces_[touch.host].host]);
    }
    std::vector<double> sorted_ns = passed_ns;
    std::sort(sorted_ns.begin(), sorted_ns.end());
    const auto until = [&](std::size_t count) {
      return kept(
          [&](const Touch& touch) { return passed_ns[touch.point] <= sorted_ns[count - 1]; });
    };
    points_ = until(first_enough(0, sorted_ns.size(),
                                 [&](std::size_t count) { return contradicts(until(count)); }));
  }

  // The pieces one of which may have stepped.
  std::vector<std::uint32_t> suspects() const {
    std::vector<std::uint32_t> found;
    for (std::uint32_t piece = 0; piece < pieces_.size(); ++piece) {
      if (!contradicts(kept([&](const Touch& touch) { return touch.host != piece; }))) {
        found.push_back(piece);
      }
    }
    return found;
  }

  bool are_all(const std::vector<std::uint32_t>& pieces) const {
    return std::all_of(points_.touches.begin(), points_.touches.end(), [&](const Touch& touch) {
      return std::find(pieces.begin(), pieces.end(), touch.host) != pieces.end();
    });
  }

  std::uint32_t most_touched() const { return pieces_.most_touched(points_); }

  // The last moment that is before the step of a piece, and the first one behind it.
  ClockPiece step_of(std::uint32_t piece) const {
    std::vector<double> moments_ns;
    for (const Touch& touch : points_.touches) {
      if (touch.host == piece) {
        moments_ns.push_back(touch.start_ns);
        moments_ns.push_back(touch.end_ns);
      }
    }
    std::erase_if(moments_ns, [](double ns) { return ns == kNoStart || ns == kNoEnd; });
    std::sort(moments_ns.begin(), moments_ns.end());
    const auto contradicts_within = [&](double first_ns, double last_ns) {
      SyncPoints part = points_;
      for (Touch& touch : part.touches) {
        if (touch.host == piece) {
          touch.start_ns =
              touch.start_ns < first_ns || touch.start_ns > last_ns ? kNoStart : touch.start_ns;
          touch.end_ns = touch.end_ns < first_ns || touch.end_ns > last_ns ? kNoEnd : touch.end_ns;
        }
      }
      return contradicts(part);
    };
    const std::size_t size = moments_ns.size();
    const std::size_t behind = first_enough(0, size, [&](std::size_t count) {
      return contradicts_within(moments_ns.front(), moments_ns[count - 1]);
    });
    const double end_ns = moments_ns[behind - 1];
    const std::size_t from_end = first_enough(0, behind, [&](std::size_t count) {
      return contradicts_within(moments_ns[behind - count], end_ns);
    });
    return {0, moments_ns[behind - from_end], end_ns, StepSource::kOperations};
  }

 private:
  template <typename Keeps>
  SyncPoints kept(const Keeps& keeps) const {
    SyncPoints part = points_;
    std::erase_if(part.touches, [&](const Touch& touch) { return !keeps(touch); });
    return part;
  }

  bool contradicts(const SyncPoints& points) const {
    return propagate(points, pieces_.size(), pieces_.most_touched(points), assumption_)
        .is_contradictory;
  }

  const Assumption assumption_;
  const ClockPieces& pieces_;
  SyncPoints points_;
};

}  // namespace

std::vector<HiddenStep> find_hidden_steps(const Assumption& assumption, const ClockPieces& pieces,
                                          const SyncPoints& points) {
  SyncPoints thinned = points;
  TightestPoints().thin_to(kMostSearched, thinned);
  Search search(assumption, pieces, std::move(thinned));
  if (!search.contradicts()) {
    return {};
  }
  search.keep_shortest();
  std::vector<std::uint32_t> suspects = search.suspects();
  const bool is_certain = suspects.size() == 1;
  // If any of all may have stepped, offsets against one of them say all that can be said.
  if (suspects.size() > 1 && search.are_all(suspects)) {
    std::erase(suspects, search.most_touched());
  }
  std::vector<HiddenStep> steps;
  for (const std::uint32_t piece : suspects) {
    steps.push_back({piece, search.step_of(piece)});
    steps.back().gap.source = is_certain ? StepSource::kOperations : StepSource::kOneOfSeveral;
  }
  return steps;
}

}  // namespace ringside::align
