// SPDX-License-Identifier: Apache-2.0
#include "analyzer/align/host_path.h"

#include <algorithm>
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

// The bounds that one piece of the rates allows.
class Pass {
 public:
  explicit Pass(const HostPath& path) : path_(path) {}

  /// False if the rates contradict the bounds.
  bool run(const Rates& rates) { return run_forwards(rates) && run_backwards(rates); }

  /// The same, without all of the bounds. Where no bound was beyond its opposite on the way
  /// forwards, each moment is reached from those before it, and none is on the way back.
  bool is_possible(const Rates& rates) {
    return run_forwards(rates) && (least_room_ns_ >= 0 || run_backwards(rates));
  }

  void widen(std::vector<double>& lower_ns, std::vector<double>& upper_ns) const {
    for (std::size_t i = 0; i < lower_ns_.size(); ++i) {
      lower_ns[i] = std::min(lower_ns[i], lower_ns_[i]);
      upper_ns[i] = std::max(upper_ns[i], upper_ns_[i]);
    }
  }

 private:
  bool run_forwards(const Rates& rates) {
    lower_ns_ = path_.lower_ns;
    upper_ns_ = path_.upper_ns;
    least_room_ns_ = kInfinity;
    const auto& time_ns = path_.time_ns;
    for (std::size_t i = 1; i < time_ns.size(); ++i) {
      const double passed_ns = time_ns[i] - time_ns[i - 1];
      lower_ns_[i] = std::max(lower_ns_[i], lower_ns_[i - 1] + rates.least * passed_ns);
      upper_ns_[i] = std::min(upper_ns_[i], upper_ns_[i - 1] + rates.most * passed_ns);
      if (lower_ns_[i] > upper_ns_[i] + kRounding_ns) {
        return false;
      }
      least_room_ns_ = std::min(least_room_ns_, upper_ns_[i] - lower_ns_[i]);
    }
    return true;
  }

  bool run_backwards(const Rates& rates) {
    const auto& time_ns = path_.time_ns;
    for (std::size_t i = time_ns.size() - 1; i-- > 0;) {
      const double passed_ns = time_ns[i + 1] - time_ns[i];
      lower_ns_[i] = std::max(lower_ns_[i], lower_ns_[i + 1] - rates.most * passed_ns);
      upper_ns_[i] = std::min(upper_ns_[i], upper_ns_[i + 1] - rates.least * passed_ns);
      if (lower_ns_[i] > upper_ns_[i] + kRounding_ns) {
        return false;
      }
    }
    return true;
  }

  const HostPath& path_;
  std::vector<double> lower_ns_, upper_ns_;
  double least_room_ns_ = 0;
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
  for (double i = 0; i < pieces; ++i) {
    const Rates piece = piece_of(*possible, i, pieces);
    if (pass.run({piece.least - wander, piece.most + wander})) {
      pass.widen(lower_ns, upper_ns);
      mean = {std::min(mean.least, piece.least), std::max(mean.most, piece.most)};
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
