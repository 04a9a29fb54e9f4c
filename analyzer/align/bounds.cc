// SPDX-License-Identifier: Apache-2.0
#include "analyzer/align/bounds.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "analyzer/model/parallel.h"

namespace ringside::align {
namespace {

constexpr std::uint32_t kNowhere = ~0U;
// Smaller changes are worth no further pass.
constexpr double kLeastChange_ns = 1;
// With fewer touches it takes longer to start a thread.
constexpr std::size_t kManyTouches = 8'192;

class Propagation {
 public:
  Propagation(const SyncPoints& points, std::size_t hosts, std::uint32_t reference,
              const Assumption& assumption, const std::vector<ClockPrior>& priors)
      : points_(points),
        reference_(reference),
        wander_(assumption.wander),
        start_at_(points.touches.size(), kNowhere),
        end_at_(points.touches.size(), kNowhere),
        is_changed_(hosts),
        is_possible_(hosts, 1) {
    solution_.hosts.resize(hosts);
    solution_.set_by.resize(hosts);
    for (HostPath& host : solution_.hosts) {
      host.mean = {-assumption.most_rate, assumption.most_rate};
    }
    place_touches();
    for (std::size_t i = 0; i < priors.size(); ++i) {
      if (i != reference) {
        bound_by_priors(priors[i], priors[reference], solution_.hosts[i]);
        is_changed_[i] = true;
      }
    }
    narrow_changed();
  }

  // A bound may reach a host through all others, and come back by another way, for rates are shared
  // as well. So there may be more passes than hosts. A cycle that contradicts itself by little
  // moves bounds by as much in each pass, without an end; what is consistent comes to rest.
  Solution run() {
    const std::size_t most_passes = 2 * solution_.hosts.size() + 16;
    double change_halfway_ns = 0;
    for (std::size_t pass = 0; pass < most_passes && !solution_.is_contradictory; ++pass) {
      change_ns_ = 0;
      visit_points();
      if (change_ns_ == 0) {
        break;
      }
      narrow_changed();
      if (pass == most_passes / 2) {
        change_halfway_ns = change_ns_;
      }
      if (pass + 1 == most_passes && change_ns_ > change_halfway_ns / 2) {
        solution_.is_contradictory = true;
      }
    }
    if (!solution_.is_contradictory) {
      count_kinds();
    }
    return std::move(solution_);
  }

 private:
  struct Moment {
    double time_ns = 0;
    std::uint32_t touch = 0;
    bool is_end = false;
  };

  template <typename Work>
  void for_each_host(const Work& work) {
    in_parallel(
        solution_.hosts.size(), points_.touches.size() < kManyTouches ? 1 : 0, [] { return 0; },
        [&](std::size_t host, int /*unused*/) { work(host); });
  }

  // Each host by itself.
  void narrow_changed() {
    for_each_host([&](std::size_t host) {
      if (is_changed_[host]) {
        is_possible_[host] = narrow(solution_.hosts[host], wander_);
      }
    });
    is_changed_.assign(is_changed_.size(), false);
    solution_.is_contradictory =
        std::find(is_possible_.begin(), is_possible_.end(), 0) != is_possible_.end();
  }

  void place_touches() {
    std::vector<std::vector<Moment>> moments(solution_.hosts.size());
    for (std::uint32_t i = 0; i < points_.touches.size(); ++i) {
      const Touch& touch = points_.touches[i];
      if (touch.host == reference_) {
        continue;
      }
      if (touch.start_ns > kNoStart) {
        moments[touch.host].push_back({touch.start_ns, i, false});
      }
      if (touch.end_ns < kNoEnd) {
        moments[touch.host].push_back({touch.end_ns, i, true});
      }
    }
    for_each_host([&](std::size_t h) {
      std::sort(moments[h].begin(), moments[h].end(),
                [](const Moment& a, const Moment& b) { return a.time_ns < b.time_ns; });
      HostPath& host = solution_.hosts[h];
      host.time_ns.reserve(moments[h].size());
      for (const Moment& moment : moments[h]) {
        const auto at = static_cast<std::uint32_t>(host.time_ns.size());
        (moment.is_end ? end_at_ : start_at_)[moment.touch] = at;
        host.time_ns.push_back(moment.time_ns);
      }
      host.lower_ns.assign(host.time_ns.size(), kNoStart);
      host.upper_ns.assign(host.time_ns.size(), kNoEnd);
      moments[h] = {};
    });
  }

  template <typename Visit>
  void each_point(const Visit& visit) {
    const auto& touches = points_.touches;
    for (std::size_t first = 0; first < touches.size();) {
      double earliest_ns = kNoStart;
      double latest_ns = kNoEnd;
      std::size_t last = first;
      for (; last < touches.size() && touches[last].point == touches[first].point; ++last) {
        const Touch& touch = touches[last];
        const bool is_reference = touch.host == reference_;
        const HostPath& host = solution_.hosts[touch.host];
        if (touch.start_ns > kNoStart) {
          earliest_ns = std::max(
              earliest_ns, touch.start_ns + (is_reference ? 0.0 : host.lower_ns[start_at_[last]]));
        }
        if (touch.end_ns < kNoEnd) {
          latest_ns = std::min(latest_ns,
                               touch.end_ns + (is_reference ? 0.0 : host.upper_ns[end_at_[last]]));
        }
      }
      for (; first < last; ++first) {
        if (touches[first].host != reference_) {
          visit(touches[first], first, earliest_ns, latest_ns);
        }
      }
    }
  }

  void visit_points() {
    each_point([&](const Touch& touch, std::size_t index, double earliest_ns, double latest_ns) {
      HostPath& host = solution_.hosts[touch.host];
      if (touch.end_ns < kNoEnd && earliest_ns > kNoStart) {
        double& lower_ns = host.lower_ns[end_at_[index]];
        change(touch.host, earliest_ns - touch.end_ns - lower_ns);
        lower_ns = std::max(lower_ns, earliest_ns - touch.end_ns);
      }
      if (touch.start_ns > kNoStart && latest_ns < kNoEnd) {
        double& upper_ns = host.upper_ns[start_at_[index]];
        change(touch.host, upper_ns - (latest_ns - touch.start_ns));
        upper_ns = std::min(upper_ns, latest_ns - touch.start_ns);
      }
    });
  }

  void change(std::uint32_t host, double by_ns) {
    if (by_ns > kLeastChange_ns) {
      change_ns_ = std::max(change_ns_, by_ns);
      is_changed_[host] = true;
    }
  }

  // A bound that is where its own point puts it was not set by others.
  void count_kinds() {
    each_point([&](const Touch& touch, std::size_t index, double earliest_ns, double latest_ns) {
      const HostPath& host = solution_.hosts[touch.host];
      auto& count = solution_.set_by[touch.host][static_cast<std::size_t>(touch.kind)];
      if (touch.end_ns < kNoEnd && earliest_ns > kNoStart) {
        count += earliest_ns - touch.end_ns >= host.lower_ns[end_at_[index]] - kLeastChange_ns;
      }
      if (touch.start_ns > kNoStart && latest_ns < kNoEnd) {
        count += latest_ns - touch.start_ns <= host.upper_ns[start_at_[index]] + kLeastChange_ns;
      }
    });
  }

  const SyncPoints& points_;
  const std::uint32_t reference_;
  const double wander_;
  std::vector<std::uint32_t> start_at_;  // of each touch, its moment in HostPath
  std::vector<std::uint32_t> end_at_;
  std::vector<bool> is_changed_;   // by host
  std::vector<char> is_possible_;  // by host; each is written by one thread
  double change_ns_ = 0;           // the most in this pass
  Solution solution_;
};

}  // namespace

Solution propagate(const SyncPoints& points, std::size_t hosts, std::uint32_t reference,
                   const Assumption& assumption, const std::vector<ClockPrior>& priors) {
  return Propagation(points, hosts, reference, assumption, priors).run();
}

}  // namespace ringside::align
