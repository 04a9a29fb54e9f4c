// SPDX-License-Identifier: Apache-2.0
#include "analyzer/replay/own_times.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "analyzer/model/nth_value.h"

namespace ringside::replay {
namespace {

// A stream that has the next kernel starts it within this time. How long that takes on a rank, such
// pauses show if there is one for so many kernels.
constexpr std::int64_t kLongestLaunch_ns = 25'000;
constexpr std::size_t kOneLaunch = 10;
// A call in the last part of so many of a kernel may have waited for its end, which is seen late.
constexpr std::int64_t kOneLate = 10;
// So many kernels of the rank before may be the anchor.
constexpr std::uint32_t kMostBack = 6;
// One of so many estimates may contradict an anchor; an own time is at least this part of a usual
// short one of that rank, and this part of those of others.
constexpr std::size_t kOneContradicts = 10;
constexpr double kShortest = 0.8;
constexpr double kFastest = 0.5;
// Nothing that is worth a word happens in this part of the time between two kernels.
constexpr double kNothing = 0.01;
// Of anchors that explain a start about as well, an end counts before a start, and the nearest one:
// own times that change by so small a part are as steady as any, and few ones may be so by chance.
constexpr double kFartherCosts = 2;
constexpr double kStartCosts = 0.3;
constexpr double kSteady = 0.0005;
// The kernels of a place that decide on its anchor.
constexpr std::size_t kKernelsAsked = 20'000;

struct Choice {
  std::uint32_t back = 0;  // 0: the trace does not show it
  bool is_end = true;
};

class Finder {
 public:
  Finder(const Job& job, const Places& places)
      : job_(job),
        places_(places),
        nothing_ns_(std::max(static_cast<double>(kSameMoment_ns),
                             kNothing * static_cast<double>(job.wall_ns) *
                                 static_cast<double>(job.ranks.size()) /
                                 static_cast<double>(job.kernels.size()))) {
    const std::size_t count = job.kernels.size();
    times_.anchors.resize(count);
    times_.own_ns.resize(count);
    times_.is_seen.resize(count);
    ready_ns_.resize(count);
    is_free_.resize(count);
    for (const JobRank& rank : job.ranks) {
      find_free(rank);
    }
  }

  OwnTimes find() {
    for (const Role& role : places_.roles()) {
      choices_.clear();
      for (std::uint32_t place = 0; place < role.length; ++place) {
        choices_.push_back(choose(role, place));
      }
      for (const std::uint32_t rank : role.ranks) {
        see(role, rank);
      }
      estimate_rest(role);
    }
    return std::move(times_);
  }

 private:
  // A stream was idle before a kernel if more time passed than twice what a launch takes.
  void find_free(const JobRank& rank) {
    std::vector<std::int64_t> launches_ns;
    const auto pause_ns = [&](const Kernel& kernel) {
      return kernel.start_ns - job_.kernels[kernel.stream_before].end_ns;
    };
    for (const Kernel& kernel : job_.kernels_of(rank)) {
      if (kernel.stream_before != kNone && pause_ns(kernel) <= kLongestLaunch_ns) {
        launches_ns.push_back(pause_ns(kernel));
      }
    }
    std::int64_t busy_ns = kSameMoment_ns;
    if (!launches_ns.empty() && kOneLaunch * launches_ns.size() >= rank.kernel_count) {
      busy_ns = std::max(busy_ns, 2 * model::upper_median(launches_ns));
    }
    for (std::uint32_t i = 0; i < rank.kernel_count; ++i) {
      const Kernel& kernel = job_.kernels[rank.first_kernel + i];
      is_free_[rank.first_kernel + i] = kernel.stream_before == kNone || pause_ns(kernel) > busy_ns;
    }
  }

  struct Sample {
    std::uint32_t rank = 0;
    std::uint32_t kernel = 0;
  };

  std::vector<Sample> samples_of(const Role& role, std::uint32_t place) const {
    const std::size_t iterations =
        job_.ranks[role.ranks.front()].kernel_count / role.length + std::size_t{1};
    const std::size_t step = iterations * role.ranks.size() / kKernelsAsked + 1;
    std::vector<Sample> samples;
    for (const std::uint32_t rank : role.ranks) {
      const JobRank& one = job_.ranks[rank];
      for (std::size_t i = place; i < one.kernel_count; i += step * role.length) {
        // How a job begins says little of what is usual, unless there is little else.
        if (i >= std::clamp<std::size_t>(one.kernel_count / 4, 1, kMostBack)) {
          samples.push_back({rank, one.first_kernel + static_cast<std::uint32_t>(i)});
        }
      }
    }
    return samples;
  }

  std::int64_t since(std::uint32_t kernel, Choice choice) const {
    const Kernel& anchor = job_.kernels[kernel - choice.back];
    return job_.kernels[kernel].start_ns - (choice.is_end ? anchor.end_ns : anchor.start_ns);
  }
  bool is_known_from(std::uint32_t kernel, Choice choice) const {
    return choice.is_end || is_free_[kernel - choice.back];
  }

  // How many of these own times are shorter than a short one.
  std::size_t count_below(const std::vector<double>& own_ns, double short_ns) const {
    const double least_ns = kShortest * short_ns - nothing_ns_;
    return static_cast<std::size_t>(
        std::count_if(own_ns.begin(), own_ns.end(), [&](double one) { return one < least_ns; }));
  }

  // How much the own times from that anchor on change from one iteration to the next, so that a
  // rank may become slower; nothing if it cannot be the anchor: a rank cannot have been ready
  // sooner than a short own time after it, also where the stream was busy. Each rank shows what is
  // short for it. One that never does may be faster than those that do.
  std::optional<double> spread(const std::vector<Sample>& samples, std::size_t seen,
                               Choice choice) const {
    std::vector<double> all_ns;
    std::vector<double> of_rank_ns;
    std::vector<double> hidden_ns;   // where its stream was busy: they are no longer than that
    std::vector<double> unshown_ns;  // of the ranks that show none
    double sum_ns = 0;
    std::size_t against = 0;
    std::size_t hidden = 0;
    std::size_t compared = 0;  // with others of the same rank
    for (std::size_t i = 0; i < samples.size();) {
      const std::uint32_t rank = samples[i].rank;
      of_rank_ns.clear();
      hidden_ns.clear();
      for (; i < samples.size() && samples[i].rank == rank; ++i) {
        const std::uint32_t kernel = samples[i].kernel;
        if (kernel - job_.ranks[rank].first_kernel >= choice.back &&
            is_known_from(kernel, choice)) {
          const std::int64_t own_ns = since(kernel, choice);
          const Kernel& anchor = job_.kernels[kernel - choice.back];
          if (!is_free_[kernel] && choice.is_end &&
              kOneLate * (anchor.end_ns - job_.kernels[kernel].call_ns) < anchor.wall_ns()) {
            continue;
          }
          (is_free_[kernel] ? of_rank_ns : hidden_ns).push_back(static_cast<double>(own_ns));
        }
      }
      hidden += hidden_ns.size();
      if (of_rank_ns.empty()) {
        unshown_ns.insert(unshown_ns.end(), hidden_ns.begin(), hidden_ns.end());
        continue;
      }
      for (std::size_t k = 1; k < of_rank_ns.size(); ++k) {
        sum_ns += std::abs(of_rank_ns[k] - of_rank_ns[k - 1]);
      }
      against += count_below(hidden_ns, model::nth_value(of_rank_ns, of_rank_ns.size() / 10));
      compared += of_rank_ns.size() - 1;
      all_ns.insert(all_ns.end(), of_rank_ns.begin(), of_rank_ns.end());
    }
    if (all_ns.size() < 2 || 4 * all_ns.size() < 3 * seen) {
      return std::nullopt;
    }
    against += count_below(unshown_ns, kFastest * model::nth_value(all_ns, all_ns.size() / 10));
    if (against * kOneContradicts > all_ns.size() + hidden) {
      return std::nullopt;
    }
    const double usual_ns = model::upper_median(all_ns) + static_cast<double>(kSameMoment_ns);
    const auto changes = static_cast<double>(std::max<std::size_t>(compared, 1));
    return (sum_ns / changes + kSteady * usual_ns) *
           (1 + kFartherCosts / std::sqrt(changes) * (choice.back - 1) +
            (choice.is_end ? 0 : kStartCosts));
  }

  Choice choose(const Role& role, std::uint32_t place) const {
    const std::vector<Sample> samples = samples_of(role, place);
    const auto seen = static_cast<std::size_t>(std::count_if(
        samples.begin(), samples.end(), [&](const Sample& one) { return is_free_[one.kernel]; }));
    Choice best;
    double least = 0;
    for (std::uint32_t back = 1; back <= kMostBack && seen >= 2; ++back) {
      // Computing depends on something of the last iteration. It goes on beside a kernel for less
      // than an iteration.
      for (const bool is_end : {true, false}) {
        const Choice choice{back, is_end};
        if (back + (is_end ? 0 : 1) > role.length) {
          continue;
        }
        const std::optional<double> found = spread(samples, seen, choice);
        if (found && (best.back == 0 || *found < least)) {
          best = choice;
          least = *found;
        }
      }
    }
    return best;
  }

  // Where the trace does not show the anchor, a kernel follows the one before it on its stream, or
  // begins some time after the rank's last one began.
  Anchor anchor_of(std::uint32_t first, std::uint32_t kernel, Choice choice) const {
    if (choice.back > 0 && kernel - first >= choice.back) {
      return {kernel - choice.back, choice.is_end};
    }
    if (job_.kernels[kernel].stream_before != kNone) {
      return {job_.kernels[kernel].stream_before, true};
    }
    return kernel == first ? Anchor{} : Anchor{kernel - 1, false};
  }

  std::int64_t anchor_ns(Anchor anchor) const {
    return anchor.is_end ? job_.kernels[anchor.kernel].end_ns : ready_ns_[anchor.kernel];
  }

  void set_ready(std::uint32_t kernel, std::int64_t ready_ns) {
    const Anchor anchor = times_.anchors[kernel];
    ready_ns_[kernel] = ready_ns;
    times_.own_ns[kernel] =
        anchor.kernel == kNone ? 0 : std::max<std::int64_t>(ready_ns - anchor_ns(anchor), 0);
  }

  void see(const Role& role, std::uint32_t rank) {
    const JobRank& one = job_.ranks[rank];
    for (std::uint32_t i = 0; i < one.kernel_count; ++i) {
      const std::uint32_t kernel = one.first_kernel + i;
      const Choice choice = choices_[i % role.length];
      times_.anchors[kernel] = anchor_of(one.first_kernel, kernel, choice);
      // A stall where kernels follow each other as a rule has no anchor, and is seen all the same.
      times_.is_seen[kernel] = is_free_[kernel] && i >= std::max(choice.back, 1U) &&
                               (choice.back == 0 || is_known_from(kernel, choice));
      set_ready(kernel, job_.kernels[kernel].start_ns);
    }
  }

  // What a rank's GPU did of its own time: the rest passed before the CPU had called the kernel.
  double gpu_ns(std::uint32_t kernel) const {
    const Kernel& one = job_.kernels[kernel];
    const std::int64_t from_ns = std::max(anchor_ns(times_.anchors[kernel]), one.call_ns);
    return static_cast<double>(std::max<std::int64_t>(one.start_ns - from_ns, 0));
  }

  using OfRank = std::pair<double, std::uint32_t>;  // what its GPU does on average, and the rank

  // The ranks that show at a place what their GPUs do, by how long that takes.
  std::vector<OfRank> seen_at(const Role& role, std::uint32_t place) const {
    std::vector<OfRank> seen;
    for (const std::uint32_t rank : role.ranks) {
      const JobRank& one = job_.ranks[rank];
      double sum_ns = 0;
      double count = 0;
      for (const std::uint32_t kernel : Job::indices_of(one, place, role.length)) {
        if (times_.is_seen[kernel]) {
          sum_ns += gpu_ns(kernel);
          ++count;
        }
      }
      if (count > 0) {
        seen.emplace_back(sum_ns / count, rank);
      }
    }
    std::sort(seen.begin(), seen.end());
    return seen;
  }

  void estimate_rest(const Role& role) {
    std::vector<std::vector<OfRank>> seen;
    std::vector<std::vector<model::Weighted>> ratios(job_.ranks.size());
    for (std::uint32_t place = 0; place < role.length; ++place) {
      seen.push_back(seen_at(role, place));
      const std::vector<OfRank>& here = seen.back();
      for (std::size_t i = 0; i < here.size() && here.size() > 1; ++i) {
        const double others_ns = model::median_of_others(here, i).first;
        if (others_ns > 0) {
          ratios[here[i].second].push_back({here[i].first / others_ns, others_ns});
        }
      }
    }
    // A rank's own times on the GPU, as a multiple of those of the others.
    std::vector<double> pace(job_.ranks.size(), 1);
    for (const std::uint32_t rank : role.ranks) {
      pace[rank] = ratios[rank].empty() ? 1 : model::weighted_median(ratios[rank]);
    }
    std::vector<double> usual_ns(role.length);
    for (std::uint32_t place = 0; place < role.length; ++place) {
      std::vector<double> values;
      for (const auto& [gpu_mean_ns, rank] : seen[place]) {
        values.push_back(gpu_mean_ns / std::max(1.0, pace[rank]));
      }
      usual_ns[place] = values.empty() ? 0 : model::upper_median(values);
    }
    for (const std::uint32_t rank : role.ranks) {
      const JobRank& one = job_.ranks[rank];
      for (std::uint32_t i = 0; i < one.kernel_count; ++i) {
        const std::uint32_t kernel = one.first_kernel + i;
        const Anchor anchor = times_.anchors[kernel];
        if (!times_.is_seen[kernel] && anchor.kernel != kNone &&
            choices_[i % role.length].back > 0) {
          const auto estimate_ns = static_cast<std::int64_t>(usual_ns[i % role.length]);
          const Kernel& here = job_.kernels[kernel];
          const std::int64_t from_ns = std::max(anchor_ns(anchor), here.call_ns);
          set_ready(kernel, is_free_[kernel] ? here.start_ns
                                             : std::min(here.start_ns, from_ns + estimate_ns));
        }
      }
    }
  }

  const Job& job_;
  const Places& places_;
  const double nothing_ns_;
  OwnTimes times_;
  std::vector<std::int64_t> ready_ns_;  // by kernel
  std::vector<bool> is_free_;           // by kernel: its stream was idle before it
  std::vector<Choice> choices_;         // of the role that is looked at, by place
};

}  // namespace

OwnTimes find_own_times(const Job& job, const Places& places) {
  return Finder(job, places).find();
}

}  // namespace ringside::replay
