// SPDX-License-Identifier: Apache-2.0
#include "analyzer/replay/what_if.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "analyzer/model/nth_value.h"

namespace ringside::replay {
namespace {

// Other ranks whose own times stand for all of them.
constexpr std::size_t kRanksCompared = 64;
// Roles are compared if no more than this part of what ranks did may look like waiting.
constexpr double kMostHidden = 0.1;
// The fastest transfers of a kind, of which the slowest is the peak.
constexpr double kPeakShare = 0.1;

// The value of `others` that stands where `own_ns` stands among `mine`. Both are sorted.
template <typename T>
T same_place(T own_ns, const std::vector<T>& mine, const std::vector<T>& others) {
  const auto [first, last] = std::equal_range(mine.begin(), mine.end(), own_ns);
  const double part = static_cast<double>((first - mine.begin()) + (last - mine.begin())) / 2 /
                      static_cast<double>(mine.size());
  const auto at = static_cast<std::size_t>(part * static_cast<double>(others.size()));
  return others[std::min(at, others.size() - 1)];
}

}  // namespace

WhatIf::WhatIf(const Job& job)
    : job_(job),
      places_(job),
      times_(find_own_times(job, places_)),
      work_ns_(places_.roles().size()),
      replay_(job, times_) {
  for (const Transfer& transfer : job.transfers) {
    transfer_ns_.push_back(transfer.time_ns);
  }
  for (std::size_t role = 0; role < places_.roles().size(); ++role) {
    double sum_ns = 0;
    for (const std::uint32_t rank : places_.roles()[role].ranks) {
      for (const std::uint32_t kernel : Job::indices_of(job.ranks[rank])) {
        sum_ns += static_cast<double>(times_.own_ns[kernel]);
      }
    }
    mean_work_ns_ += sum_ns / static_cast<double>(job.ranks.size());
    work_ns_[role] = sum_ns / static_cast<double>(places_.roles()[role].ranks.size());
  }
  const double hidden_ns = std::accumulate(
      job.ranks.begin(), job.ranks.end(), 0.0,
      [](double sum, const JobRank& rank) { return sum + static_cast<double>(rank.hidden_ns); });
  shows_roles_ = hidden_ns <= kMostHidden * mean_work_ns_ * static_cast<double>(job.ranks.size());
  if (replay_.is_possible()) {
    own_ns_.resize(job.kernels.size());
    for (std::uint32_t kernel = 0; kernel < own_ns_.size(); ++kernel) {
      own_ns_[replay_.place_of(kernel)] = times_.own_ns[kernel];
    }
    replayed_ns_ = replay_.run(own_ns_, transfer_ns_);
    as_it_was_ns_ = replay_.ends_ns();
    fidelity_ = find_fidelity();
  }
}

// What a rank waits at first for others to start is in its time, and not in the replay: so the rank
// counts that has least of that.
double WhatIf::find_fidelity() const {
  double most = 0;
  for (const JobRank& rank : job_.ranks) {
    const auto kernels = job_.kernels_of(rank);
    const std::uint32_t last = rank.first_kernel + rank.kernel_count - 1;
    const std::int64_t took_ns = kernels.back().end_ns - kernels.front().end_ns;
    const std::int64_t takes_ns = replay_.end_ns(last) - replay_.end_ns(rank.first_kernel);
    if (took_ns > 0) {
      most = std::max(most, static_cast<double>(takes_ns) / static_cast<double>(took_ns));
    }
  }
  return most > 0 ? most : 1;
}

void WhatIf::make_like_others(const Role& role, const std::vector<bool>& is_chosen,
                              std::vector<std::int64_t>& own_ns) const {
  std::vector<std::uint32_t> others;
  std::vector<std::uint32_t> chosen;
  for (const std::uint32_t rank : role.ranks) {
    (is_chosen[rank] ? chosen : others).push_back(rank);
  }
  if (chosen.empty()) {
    return;
  }
  const std::size_t step = (others.size() + kRanksCompared - 1) / kRanksCompared;
  std::vector<std::int64_t> usual_ns;
  std::vector<std::int64_t> mine_ns;
  const auto values_of = [&](std::uint32_t rank, std::uint32_t place, bool with_estimates,
                             std::vector<std::int64_t>& values_ns) {
    for (const std::uint32_t kernel : Job::indices_of(job_.ranks[rank], place, role.length)) {
      if (with_estimates || times_.is_seen[kernel]) {
        values_ns.push_back(times_.own_ns[kernel]);
      }
    }
  };
  for (std::uint32_t place = 0; place < role.length; ++place) {
    usual_ns.clear();
    std::size_t seen = 0;
    std::size_t asked = 0;
    for (std::size_t i = 0; i < others.size(); i += step) {
      const std::size_t before = usual_ns.size();
      values_of(others[i], place, false, usual_ns);
      seen += usual_ns.size() > before ? 1 : 0;
      ++asked;
    }
    // Where few others are seen, what their CPUs did before the call is known all the same.
    if (3 * seen < asked) {
      usual_ns.clear();
      for (std::size_t i = 0; i < others.size(); i += step) {
        values_of(others[i], place, true, usual_ns);
      }
    }
    std::sort(usual_ns.begin(), usual_ns.end());
    for (const std::uint32_t rank : chosen) {
      mine_ns.clear();
      values_of(rank, place, false, mine_ns);
      std::sort(mine_ns.begin(), mine_ns.end());
      for (const std::uint32_t kernel : Job::indices_of(job_.ranks[rank], place, role.length)) {
        if (times_.is_seen[kernel]) {
          std::int64_t& own_one_ns = own_ns[replay_.place_of(kernel)];
          if (!usual_ns.empty()) {
            own_one_ns = std::min(own_one_ns, same_place(own_one_ns, mine_ns, usual_ns));
          }
        }
      }
    }
  }
}

void WhatIf::balance(std::vector<std::int64_t>& own_ns) const {
  for (std::size_t number = 0; number < places_.roles().size(); ++number) {
    const Role& role = places_.roles()[number];
    const double factor =
        shows_roles_ && work_ns_[number] > 0 ? mean_work_ns_ / work_ns_[number] : 1;
    for (std::uint32_t place = 0; place < role.length; ++place) {
      double sum_ns = 0;
      std::vector<std::uint32_t> here;  // as places in the replay
      for (const std::uint32_t rank : role.ranks) {
        for (const std::uint32_t kernel : Job::indices_of(job_.ranks[rank], place, role.length)) {
          here.push_back(replay_.place_of(kernel));
          sum_ns += static_cast<double>(own_ns[here.back()]);
        }
      }
      for (const std::uint32_t one : here) {
        own_ns[one] = static_cast<std::int64_t>(factor * sum_ns / static_cast<double>(here.size()));
      }
    }
  }
}

std::vector<std::vector<double>> WhatIf::work_of(const Role& role) const {
  std::vector<std::vector<double>> work_ns;
  for (const std::uint32_t rank : role.ranks) {
    const JobRank& one = job_.ranks[rank];
    std::vector<double>& own_ns = work_ns.emplace_back(one.kernel_count / role.length);
    for (std::size_t i = 0; i < own_ns.size() * role.length; ++i) {
      own_ns[i / role.length] += static_cast<double>(times_.own_ns[one.first_kernel + i]);
    }
  }
  return work_ns;
}

// Its q-th shortest iteration takes as long as the q-th quantile of the iterations of others.
void WhatIf::make_like_other_roles(const Role& role, const std::vector<bool>& is_chosen,
                                   std::vector<std::int64_t>& own_ns) const {
  const std::vector<std::vector<double>> work_ns = work_of(role);
  const bool are_all = std::find(is_chosen.begin(), is_chosen.end(), false) == is_chosen.end();
  std::vector<double> others_ns;
  for (const Role& other : places_.roles()) {
    const std::size_t step = (other.ranks.size() + kRanksCompared - 1) / kRanksCompared;
    const std::vector<std::vector<double>> other_ns = work_of(other);
    for (std::size_t i = 0; i < other.ranks.size(); i += step) {
      if (are_all || !is_chosen[other.ranks[i]]) {
        const double longer = static_cast<double>(other_ns[i].size()) /
                              static_cast<double>(std::max<std::size_t>(work_ns[0].size(), 1));
        std::transform(other_ns[i].begin(), other_ns[i].end(), std::back_inserter(others_ns),
                       [&](double one_ns) { return longer * one_ns; });
      }
    }
  }
  std::sort(others_ns.begin(), others_ns.end());
  for (std::size_t i = 0; i < role.ranks.size() && !others_ns.empty(); ++i) {
    const JobRank& one = job_.ranks[role.ranks[i]];
    std::vector<double> mine_ns = work_ns[i];
    std::sort(mine_ns.begin(), mine_ns.end());
    for (std::uint32_t k = 0; k < mine_ns.size(); ++k) {
      cap(own_ns, one.first_kernel + k * role.length, role.length,
          same_place(work_ns[i][k], mine_ns, others_ns));
    }
  }
}

// Shortens the longest ones of an iteration, in which stalls are, until all take so long.
void WhatIf::cap(std::vector<std::int64_t>& own_ns, std::uint32_t first, std::uint32_t length,
                 double all_ns) const {
  std::vector<std::int64_t*> longest;
  for (std::uint32_t kernel = first; kernel < first + length; ++kernel) {
    longest.push_back(&own_ns[replay_.place_of(kernel)]);
  }
  std::sort(longest.begin(), longest.end(), [](const auto* a, const auto* b) { return *a < *b; });
  for (std::size_t i = 0; i < longest.size(); ++i) {
    const double each_ns = std::max(all_ns, 0.0) / static_cast<double>(longest.size() - i);
    *longest[i] = std::min(*longest[i], static_cast<std::int64_t>(each_ns));
    all_ns -= static_cast<double>(*longest[i]);
  }
}

std::vector<std::int64_t> WhatIf::change_own(const WhatIfQuestion& question) const {
  std::vector<std::int64_t> own_ns = own_ns_;
  if (question.is_balanced) {
    balance(own_ns);
    return own_ns;
  }
  std::vector<bool> is_chosen(job_.ranks.size());
  for (const std::uint32_t rank : question.like_others) {
    is_chosen[rank] = true;
  }
  for (const Role& role : places_.roles()) {
    if (!std::all_of(role.ranks.begin(), role.ranks.end(),
                     [&](std::uint32_t rank) { return is_chosen[rank]; })) {
      make_like_others(role, is_chosen, own_ns);
    } else if (shows_roles_) {
      make_like_other_roles(role, is_chosen, own_ns);
    }
  }
  return own_ns;
}

// What they have to do beyond the mean of all ranks goes to others.
std::vector<std::int64_t> WhatIf::share_work(const std::vector<std::uint32_t>& ranks) const {
  std::vector<std::int64_t> own_ns = own_ns_;
  const double factor = std::min(mean_work_ns_ / work_ns_[places_.role_of(ranks.front())], 1.0);
  for (const std::uint32_t rank : ranks) {
    for (const std::uint32_t kernel : Job::indices_of(job_.ranks[rank])) {
      std::int64_t& here_ns = own_ns[replay_.place_of(kernel)];
      here_ns = static_cast<std::int64_t>(factor * static_cast<double>(here_ns));
    }
  }
  return own_ns;
}

std::vector<std::int64_t> WhatIf::transfer_times_of(const WhatIfQuestion& question) const {
  std::vector<std::int64_t> times_ns = transfer_ns_;
  if (question.is_network_peak) {
    // By the signature of the first kernel, and bytes.
    std::map<std::pair<std::uint32_t, std::uint64_t>, std::vector<std::int64_t>> alike;
    const auto kind_of = [&](const Transfer& one) {
      return std::pair(job_.kernels[job_.kernels_of(one).front()].signature, one.bytes);
    };
    for (const Transfer& one : job_.transfers) {
      alike[kind_of(one)].push_back(one.time_ns);
    }
    for (auto& [kind, values_ns] : alike) {
      const double place = kPeakShare * static_cast<double>(values_ns.size());
      values_ns.assign(1, model::nth_value(values_ns, static_cast<std::size_t>(place)));
    }
    for (std::size_t i = 0; i < times_ns.size(); ++i) {
      times_ns[i] = std::min(times_ns[i], alike[kind_of(job_.transfers[i])].front());
    }
  } else if (question.network_speed != 1) {
    const double speed = std::max(question.network_speed, 1e-9);
    for (std::int64_t& time_ns : times_ns) {
      time_ns = static_cast<std::int64_t>(static_cast<double>(time_ns) / speed);
    }
  }
  return times_ns;
}

WhatIfAnswer WhatIf::ask(const WhatIfQuestion& question, std::uint32_t of) {
  const std::vector<std::int64_t> transfer_ns = transfer_times_of(question);
  const auto all_ns = static_cast<double>(replayed_ns_);
  const auto saved_by = [&](const std::vector<std::int64_t>& own_ns) {
    return 1 - static_cast<double>(replay_.run(own_ns, transfer_ns)) / all_ns;
  };
  WhatIfAnswer answer;
  const double shared = places_.is_role(question.like_others) && shows_roles_
                            ? saved_by(share_work(question.like_others))
                            : 1;
  answer.saved = answer.saved_most = saved_by(change_own(question));
  answer.saved_least = std::min(answer.saved, shared);
  if (question.like_others.size() > 1) {
    answer.saved = std::min(answer.saved, shared);  // several are slow since they have more to do
  }
  const std::uint32_t length = places_.roles()[places_.role_of(of)].length;
  std::int64_t saved_before_ns = 0;
  for (const std::uint32_t kernel : Job::indices_of(job_.ranks[of], length - 1, length)) {
    const std::uint32_t last = replay_.place_of(kernel);
    const std::int64_t saved_ns = as_it_was_ns_[last] - replay_.ends_ns()[last];
    answer.saved_by_iteration.push_back(static_cast<double>(saved_ns - saved_before_ns) / all_ns);
    saved_before_ns = saved_ns;
  }
  return answer;
}

}  // namespace ringside::replay
