// SPDX-License-Identifier: Apache-2.0
#include "analyzer/align/host_path.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

namespace ringside::align {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kMostPieces = 16;
// Rounding may seem to contradict by as much.
constexpr double kRounding_ns = 2;

// A number for each of two pieces of the rates: a processor computes both at once.
using Two = double __attribute__((vector_size(16)));

Two least_of(Two a, Two b) {
  return a < b ? a : b;
}

Two most_of(Two a, Two b) {
  return a < b ? b : a;
}

// The bounds that each of two pieces of the rates allows.
class Pass {
 public:
  explicit Pass(const HostPath& path)
      : path_(path), lower_ns_(path.time_ns.size()), upper_ns_(path.time_ns.size()) {}

  /// Tells of each whether its rates do not contradict the bounds.
  std::array<bool, 2> run(const Rates& one, const Rates& other) {
    set(one, other);
    if (run_forwards()) {
      run_backwards();
    }
    return {is_possible(0), is_possible(1)};
  }

  /// Tells whether one piece of the rates is possible, and need not find all bounds. If no bound
  /// was beyond its opposite on the way forwards, none is on the way back, which is left out then.
  bool is_possible(const Rates& rates) {
    set(rates, rates);
    return run_forwards() && (room_ns_[0] >= 0 || run_backwards());
  }

  void widen(std::size_t which, std::vector<double>& lower_ns,
             std::vector<double>& upper_ns) const {
    for (std::size_t i = 0; i < lower_ns_.size(); ++i) {
      lower_ns[i] = std::min(lower_ns[i], lower_ns_[i][which]);
      upper_ns[i] = std::max(upper_ns[i], upper_ns_[i][which]);
    }
  }

 private:
  void set(const Rates& one, const Rates& other) {
    least_ = Two{one.least, other.least};
    most_ = Two{one.most, other.most};
    room_ns_ = Two{kInfinity, kInfinity};
  }

  bool is_possible(std::size_t which) const { return room_ns_[which] >= -kRounding_ns; }

  // Returns false if neither is possible any more.
  bool take(std::size_t moment, Two lower_ns, Two upper_ns) {
    lower_ns_[moment] = lower_ns;
    upper_ns_[moment] = upper_ns;
    room_ns_ = least_of(room_ns_, upper_ns - lower_ns);
    return is_possible(0) || is_possible(1);
  }

  bool run_forwards() {
    const auto& time_ns = path_.time_ns;
    Two lower_ns = Two{} + path_.lower_ns.front();
    Two upper_ns = Two{} + path_.upper_ns.front();
    lower_ns_.front() = lower_ns;
    upper_ns_.front() = upper_ns;
    for (std::size_t i = 1; i < time_ns.size(); ++i) {
      const double passed_ns = time_ns[i] - time_ns[i - 1];
      lower_ns = most_of(Two{} + path_.lower_ns[i], lower_ns + least_ * passed_ns);
      upper_ns = least_of(Two{} + path_.upper_ns[i], upper_ns + most_ * passed_ns);
      if (!take(i, lower_ns, upper_ns)) {
        return false;
      }
    }
    return true;
  }

  bool run_backwards() {
    const auto& time_ns = path_.time_ns;
    Two lower_ns = lower_ns_.back();
    Two upper_ns = upper_ns_.back();
    for (std::size_t i = time_ns.size() - 1; i-- > 0;) {
      const double passed_ns = time_ns[i + 1] - time_ns[i];
      lower_ns = most_of(lower_ns_[i], lower_ns - most_ * passed_ns);
      upper_ns = least_of(upper_ns_[i], upper_ns - least_ * passed_ns);
      if (!take(i, lower_ns, upper_ns)) {
        return false;
      }
    }
    return true;
  }

  const HostPath& path_;
  std::vector<Two> lower_ns_, upper_ns_;
  Two least_{};  // rates
  Two most_{};
  Two room_ns_{};  // the least that was left between both bounds
};

Rates piece_of(const Rates& rates, double index, double count) {
  const double width = rates.most - rates.least;
  return {rates.least + width * index / count, rates.least + width * (index + 1) / count};
}

// Takes off both ends what is not possible: what is possible is one interval. Coarse pieces first,
// since most of the rates are far from what is possible.
std::optional<Rates> possible_rates(Rates rates, double wander, Pass& pass) {
  constexpr double kPieces = 8;
  for (;;) {
    const auto is_possible = [&](double index) {
      const Rates piece = piece_of(rates, index, kPieces);
      return pass.is_possible({piece.least - wander, piece.most + wander});
    };
    double first = 0;
    while (first < kPieces && !is_possible(first)) {
      ++first;
    }
    if (first == kPieces) {
      return std::nullopt;
    }
    double last = kPieces - 1;
    while (last > first && !is_possible(last)) {
      --last;
    }
    const double width = rates.most - rates.least;
    rates = {piece_of(rates, first, kPieces).least, piece_of(rates, last, kPieces).most};
    const double left = rates.most - rates.least;
    if (left > width / 2 || left <= wander / 4) {
      return rates;
    }
  }
}

}  // namespace

bool HostPath::is_bounded() const {
  return !time_ns.empty() && lower_ns.front() > -kInfinity && upper_ns.front() < kInfinity;
}

bool narrow(HostPath& path, double wander) {
  const std::size_t size = path.time_ns.size();
  const bool is_touched = std::any_of(path.lower_ns.begin(), path.lower_ns.end(),
                                      [](double bound_ns) { return bound_ns > -kInfinity; }) ||
                          std::any_of(path.upper_ns.begin(), path.upper_ns.end(),
                                      [](double bound_ns) { return bound_ns < kInfinity; });
  if (!is_touched) {
    return true;
  }
  Pass pass(path);
  const auto possible = possible_rates(path.mean, wander, pass);
  if (!possible) {
    return false;
  }
  const double width = possible->most - possible->least;
  const double pieces = std::clamp(std::ceil(width / (wander / 4)), 1.0, kMostPieces);
  std::vector<double> lower_ns(size, kInfinity);
  std::vector<double> upper_ns(size, -kInfinity);
  Rates mean{kInfinity, -kInfinity};
  for (double i = 0; i < pieces; i += 2) {
    // The last one comes twice if their number is odd.
    const std::array<Rates, 2> two{piece_of(*possible, i, pieces),
                                   piece_of(*possible, std::min(i + 1, pieces - 1), pieces)};
    const auto is_possible = pass.run({two[0].least - wander, two[0].most + wander},
                                      {two[1].least - wander, two[1].most + wander});
    for (std::size_t k = 0; k < two.size(); ++k) {
      if (is_possible[k]) {
        pass.widen(k, lower_ns, upper_ns);
        mean = {std::min(mean.least, two[k].least), std::max(mean.most, two[k].most)};
      }
    }
  }
  if (mean.least > mean.most) {
    return false;
  }
  path.lower_ns = std::move(lower_ns);
  path.upper_ns = std::move(upper_ns);
  path.mean = mean;
  return true;
}

HostPath at_moments(const HostPath& path, const std::vector<double>& moments_ns, double wander) {
  HostPath all;
  all.mean = path.mean;
  const auto add = [&](double time_ns, double lower_ns, double upper_ns) {
    all.time_ns.push_back(time_ns);
    all.lower_ns.push_back(lower_ns);
    all.upper_ns.push_back(upper_ns);
  };
  std::vector<std::size_t> places;  // of the moments, among all
  std::size_t i = 0;
  for (const double moment_ns : moments_ns) {
    for (; i < path.time_ns.size() && path.time_ns[i] <= moment_ns; ++i) {
      add(path.time_ns[i], path.lower_ns[i], path.upper_ns[i]);
    }
    places.push_back(all.time_ns.size());
    add(moment_ns, -kInfinity, kInfinity);
  }
  for (; i < path.time_ns.size(); ++i) {
    add(path.time_ns[i], path.lower_ns[i], path.upper_ns[i]);
  }
  narrow(all, wander);
  HostPath made;
  made.mean = all.mean;
  for (const std::size_t place : places) {
    made.time_ns.push_back(all.time_ns[place]);
    made.lower_ns.push_back(all.lower_ns[place]);
    made.upper_ns.push_back(all.upper_ns[place]);
  }
  return made;
}

}  // namespace ringside::align
