// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/untrusted/align_calls.h"

#include <algorithm>
#include <cmath>

#include "analyzer/model/nth_value.h"

namespace ringside::match {
namespace {

constexpr std::int64_t kEarliest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kLatest = std::numeric_limits<std::int64_t>::max();
constexpr double kCertainBits = 40;
constexpr double kRunnerUpShare =
    0.25;  // a rival with more than this share of the best one's evidence comes near
constexpr std::uint64_t kWorkPerCall = 32;

std::int64_t minus(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  return __builtin_sub_overflow(a, b, &result) ? (b > 0 ? kEarliest : kLatest) : result;
}

std::int64_t plus(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  return __builtin_add_overflow(a, b, &result) ? (b > 0 ? kLatest : kEarliest) : result;
}

// Positions, both exclusive, between which a call of another rank must be by its time.
struct Bounds {
  std::optional<std::int64_t> after;
  std::optional<std::int64_t> before;
};

// Finds bounds by time. A communicator's calls execute in order, so their ends and starts ascend
// with the position. If the clocks contradict that, running extremes widen the bounds.
class TimeBounds {
 public:
  explicit TimeBounds(std::span<const Call> reference) : reference_(reference) {
    // latest_end_[i] is that of calls [0, i], and earliest_start_[i] that of calls [i, end). Only
    // executions that were seen count.
    std::int64_t latest = kEarliest;
    for (const Call& call : reference) {
      latest = std::max(latest, call.end_ns == kLatest ? kEarliest : call.end_ns);
      latest_end_.push_back(latest);
    }
    earliest_start_.resize(reference.size());
    std::int64_t earliest = kLatest;
    for (std::size_t i = reference.size(); i-- > 0;) {
      earliest =
          std::min(earliest, reference[i].start_ns == kEarliest ? kLatest : reference[i].start_ns);
      earliest_start_[i] = earliest;
    }
  }

  Bounds of(const Call& call, std::int64_t uncertainty_ns) const {
    Bounds bounds;
    if (call.start_ns != kEarliest) {
      // The call comes after the last one that had ended before it started.
      const std::int64_t start_ns = minus(call.start_ns, uncertainty_ns);
      const auto end = std::lower_bound(latest_end_.begin(), latest_end_.end(), start_ns);
      if (end != latest_end_.begin()) {
        auto i = static_cast<std::size_t>(end - latest_end_.begin()) - 1;
        while (i > 0 && reference_[i].end_ns == kLatest) {
          --i;
        }
        if (reference_[i].end_ns != kLatest) {
          bounds.after = reference_[i].position;
        }
      }
    }
    if (call.end_ns != kLatest) {
      const std::int64_t end_ns = plus(call.end_ns, uncertainty_ns);
      const auto start = std::upper_bound(earliest_start_.begin(), earliest_start_.end(), end_ns);
      if (start != earliest_start_.end() && *start != kLatest) {
        auto i = static_cast<std::size_t>(start - earliest_start_.begin());
        while (i < reference_.size() && reference_[i].start_ns == kEarliest) {
          ++i;
        }
        if (i < reference_.size()) {
          bounds.before = reference_[i].position;
        }
      }
    }
    return bounds;
  }

 private:
  std::span<const Call> reference_;
  std::vector<std::int64_t> latest_end_;
  std::vector<std::int64_t> earliest_start_;
};

std::size_t first_at(std::span<const Call> calls, std::int64_t position) {
  const auto found =
      std::lower_bound(calls.begin(), calls.end(), position,
                       [](const Call& call, std::int64_t p) { return call.position < p; });
  return static_cast<std::size_t>(found - calls.begin());
}

struct Fit {
  std::int64_t shift = 0;
  double evidence_bits = 0;  // how unlikely it is that these signatures agree by chance
};

class ShiftSearch {
 public:
  ShiftSearch(const Piece& reference, const SignatureCounts& counts, const Piece& piece)
      : reference_(reference.calls),
        calls_(piece.calls),
        counts_(counts),
        work_left_(kWorkPerCall * (reference_.size() + calls_.size()) + 4096) {
    for (const Call& call : calls_) {
      total_bits_ += bits(call.signature);
    }
  }

  std::optional<std::int64_t> find(std::int64_t uncertainty_ns) {
    // The shifts at which the two pieces overlap.
    std::int64_t least = reference_.front().position - calls_.back().position;
    std::int64_t most = reference_.back().position - calls_.front().position;
    const auto [low, high] = shifts_by_time(uncertainty_ns);
    if (low && high && *low == *high) {
      return low;
    }
    // The pieces may not overlap at all. No signature contradicts that.
    std::size_t agreeing = low && *low >= least && high && *high <= most ? 0 : 1;
    least = std::max(least, low.value_or(least));
    most = std::min(most, high.value_or(most));
    Fit best;
    double second_bits = 0;
    for (std::int64_t shift = least; shift <= most; ++shift) {
      const auto fit = fit_of(shift);
      if (work_left_ == 0) {
        return std::nullopt;
      }
      if (!fit) {
        continue;
      }
      ++agreeing;
      if (best.evidence_bits < fit->evidence_bits || agreeing == 1) {
        second_bits = agreeing == 1 ? 0 : best.evidence_bits;
        best = *fit;
      } else {
        second_bits = std::max(second_bits, fit->evidence_bits);
      }
      const double could_be_bits = total_bits_ * kRunnerUpShare;
      if (agreeing > 1 && (total_bits_ < kCertainBits || second_bits > could_be_bits)) {
        return std::nullopt;
      }
    }
    if (agreeing == 1 && best.evidence_bits > 0) {
      return low && high ? std::optional(best.shift) : certain(best, 0, uncertainty_ns);
    }
    return certain(best, second_bits, uncertainty_ns);
  }

 private:
  std::pair<std::optional<std::int64_t>, std::optional<std::int64_t>> shifts_by_time(
      std::int64_t uncertainty_ns) const {
    const TimeBounds times(reference_);
    std::optional<std::int64_t> low;
    std::optional<std::int64_t> high;
    for (const Call& call : calls_) {
      const Bounds bounds = times.of(call, uncertainty_ns);
      if (bounds.after) {
        const std::int64_t shift = *bounds.after + 1 - call.position;
        low = std::max(low.value_or(shift), shift);
      }
      if (bounds.before) {
        const std::int64_t shift = *bounds.before - 1 - call.position;
        high = std::min(high.value_or(shift), shift);
      }
    }
    return {low, high};
  }

  double bits(std::uint64_t signature) const {
    const auto found = counts_.find(signature);
    const auto times = static_cast<double>(found == counts_.end() ? 1U : found->second);
    return std::log2(static_cast<double>(reference_.size()) / times);
  }

  // Returns nothing if signatures contradict the shift, or if the pieces do not overlap at it.
  std::optional<Fit> fit_of(std::int64_t shift) {
    std::size_t r = first_at(reference_, calls_.front().position + shift);
    std::size_t c = first_at(calls_, reference_.front().position - shift);
    Fit fit{shift, 0};
    bool has_pair = false;
    spend();
    while (r < reference_.size() && c < calls_.size()) {
      spend();
      const std::int64_t position = calls_[c].position + shift;
      if (reference_[r].position < position) {
        ++r;
      } else if (position < reference_[r].position) {
        ++c;
      } else {
        if (reference_[r].signature != calls_[c].signature) {
          return std::nullopt;
        }
        has_pair = true;
        fit.evidence_bits += bits(calls_[c].signature);
        ++r;
        ++c;
      }
    }
    // Pieces with gaps may have no common call at a shift that is possible.
    return has_pair ? std::optional(fit) : std::optional(Fit{shift, 0});
  }

  void spend() { work_left_ -= work_left_ > 0 ? 1 : 0; }

  // Decides by signatures alone: they are no coincidence, there is no rival, and the calls were
  // enqueued at about the same times.
  std::optional<std::int64_t> certain(const Fit& best, double second_bits,
                                      std::int64_t uncertainty_ns) const {
    if (best.evidence_bits < kCertainBits || second_bits > best.evidence_bits * kRunnerUpShare) {
      return std::nullopt;
    }
    std::vector<std::int64_t> gaps_ns;
    std::int64_t first_ns = kLatest;
    std::int64_t last_ns = kEarliest;
    for (const Call& call : calls_) {
      const std::size_t r = first_at(reference_, call.position + best.shift);
      if (r < reference_.size() && reference_[r].position == call.position + best.shift) {
        const std::int64_t gap_ns = minus(call.enqueued_ns, reference_[r].enqueued_ns);
        gaps_ns.push_back(gap_ns < 0 ? minus(0, gap_ns) : gap_ns);
        first_ns = std::min(first_ns, call.enqueued_ns);
        last_ns = std::max(last_ns, call.enqueued_ns);
      }
    }
    const std::int64_t middle_ns = model::upper_median(gaps_ns);
    const bool is_near = plus(middle_ns, uncertainty_ns) < minus(last_ns, first_ns) / 4;
    return is_near ? std::optional(best.shift) : std::nullopt;
  }

  std::span<const Call> reference_;
  std::span<const Call> calls_;
  const SignatureCounts& counts_;
  std::uint64_t work_left_;
  double total_bits_ = 0;
};

}  // namespace

SignatureCounts count_signatures(std::span<const Call> calls) {
  SignatureCounts counts;
  for (const Call& call : calls) {
    ++counts[call.signature];
  }
  return counts;
}

std::optional<std::int64_t> find_shift(const Piece& reference, const SignatureCounts& counts,
                                       const Piece& piece, std::int64_t uncertainty_ns) {
  if (reference.calls.empty() || piece.calls.empty()) {
    return std::nullopt;
  }
  if (reference.at_start && piece.at_start) {
    return 0;
  }
  if (reference.at_end && piece.at_end) {
    return reference.calls.back().position - piece.calls.back().position;
  }
  return ShiftSearch(reference, counts, piece).find(uncertainty_ns);
}

std::vector<std::optional<std::int64_t>> find_positions(const Piece& reference,
                                                        std::span<const Call> calls,
                                                        std::int64_t uncertainty_ns) {
  std::vector<std::optional<std::int64_t>> positions(calls.size());
  if (reference.calls.empty()) {
    return positions;
  }
  const TimeBounds times(reference.calls);
  constexpr std::size_t kLooked = 64;  // candidates that are tried for one call
  for (std::size_t c = 0; c < calls.size(); ++c) {
    const Bounds bounds = times.of(calls[c], uncertainty_ns);
    if ((!bounds.after && !reference.at_start) || (!bounds.before && !reference.at_end)) {
      continue;  // it may be a call that the reference has not recorded
    }
    const std::size_t first = bounds.after ? first_at(reference.calls, *bounds.after + 1) : 0;
    const std::size_t last =
        bounds.before ? first_at(reference.calls, *bounds.before) : reference.calls.size();
    if (last - std::min(first, last) > kLooked) {
      continue;
    }
    std::size_t agreeing = 0;
    for (std::size_t r = first; r < last; ++r) {
      if (reference.calls[r].signature == calls[c].signature) {
        ++agreeing;
        positions[c] = reference.calls[r].position;
      }
    }
    if (agreeing != 1) {
      positions[c].reset();
    }
  }
  // If two calls got the same position, or changed their order, the clocks are wrong.
  std::optional<std::int64_t> previous;
  for (const auto& position : positions) {
    if (position && previous && *position <= *previous) {
      return std::vector<std::optional<std::int64_t>>(calls.size());
    }
    previous = position ? position : previous;
  }
  return positions;
}

}  // namespace ringside::match
