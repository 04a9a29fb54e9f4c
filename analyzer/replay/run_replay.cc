// SPDX-License-Identifier: Apache-2.0
#include "analyzer/replay/run_replay.h"

#include <algorithm>
#include <cmath>

#include "analyzer/model/nth_value.h"
#include "analyzer/model/profiled_run.h"
#include "analyzer/model/saturating.h"

namespace ringside::replay {
namespace {

// A replay that differs by more from the job as it was says nothing of what would be.
constexpr double kMostInfidelity = 0.1;

std::vector<RankFigures> figures_of(const Job& job, const WhatIf& what_if) {
  std::vector<RankFigures> figures(job.ranks.size());
  for (std::size_t rank = 0; rank < job.ranks.size(); ++rank) {
    const JobRank& one = job.ranks[rank];
    for (const std::uint32_t kernel : Job::indices_of(one)) {
      figures[rank].own_ns = add_saturating(figures[rank].own_ns, what_if.times().own_ns[kernel]);
    }
    for (const Kernel& kernel : job.waits_of(one)) {
      figures[rank].waited_ns = add_saturating(figures[rank].waited_ns, kernel.waited_ns);
    }
  }
  for (const Role& role : what_if.places().roles()) {
    std::vector<std::int64_t> own_ns;
    for (const std::uint32_t rank : role.ranks) {
      own_ns.push_back(figures[rank].own_ns);
    }
    std::sort(own_ns.begin(), own_ns.end());
    for (const std::uint32_t rank : role.ranks) {
      const auto place = std::lower_bound(own_ns.begin(), own_ns.end(), figures[rank].own_ns);
      const std::int64_t others_ns =
          own_ns.size() < 2
              ? 0
              : model::median_of_others(own_ns, static_cast<std::size_t>(place - own_ns.begin()));
      if (others_ns > 0) {
        figures[rank].own_ratio =
            static_cast<double>(figures[rank].own_ns) / static_cast<double>(others_ns);
      }
    }
  }
  return figures;
}

}  // namespace

RunReplay::RunReplay(Job job, bool is_seen)
    : job_(std::move(job)), what_if_(job_), ranks_(figures_of(job_, what_if_)) {
  std::vector<std::int64_t> waited_ns;
  for (const RankFigures& rank : ranks_) {
    waited_ns.push_back(rank.waited_ns);
    waited_ns_ = add_saturating(waited_ns_, rank.waited_ns);
  }
  slow_.ranks.resize(job_.ranks.size());
  if (is_seen && is_possible()) {
    slow_ = find_slow(job_, waited_ns, what_if_);
  }
}

bool RunReplay::is_possible() const {
  return what_if_.is_possible() && std::abs(1 - what_if_.fidelity()) <= kMostInfidelity;
}

RunReplay* Replays::longest() const {
  const auto longest = std::max_element(
      runs.begin(), runs.end(),
      [](const auto& one, const auto& other) { return one->job().wall_ns < other->job().wall_ns; });
  return longest == runs.end() ? nullptr : longest->get();
}

bool Replays::are_possible() const {
  return std::all_of(runs.begin(), runs.end(), [](const auto& run) { return run->is_possible(); });
}

Coverage Replays::all_coverage() const {
  Coverage all;
  for (const Coverage& one : coverage) {
    all.add(one);
  }
  return all;
}

std::map<std::pair<std::uint32_t, std::string>, std::int64_t> Replays::waits_by_rank() const {
  std::map<std::pair<std::uint32_t, std::string>, std::int64_t> waits_ns;
  for (const auto& run : runs) {
    if (!coverage[run->job().run].shows_waits()) {
      continue;
    }
    for (const JobRank& rank : run->job().ranks) {
      std::int64_t& sum_ns = waits_ns[{rank.file, rank.label}];
      for (const Kernel& kernel : run->job().kernels_of(rank)) {
        sum_ns = add_saturating(sum_ns, kernel.waited_ns);
      }
    }
  }
  return waits_ns;
}

Replays make_replays(JobParts&& parts, const model::Traces& traces, const match::Matches& matches) {
  Replays replays;
  replays.coverage = parts.coverage;
  replays.left_out = traces.left_out;
  replays.is_profiled = !traces.files.empty() && model::is_profile(traces.files.front());
  for (Job& job : make_jobs(std::move(parts), traces, matches)) {
    const bool is_seen = replays.coverage[job.run].is_enough();
    replays.runs.push_back(std::make_unique<RunReplay>(std::move(job), is_seen));
  }
  return replays;
}

Replays find_replays(const facts::Facts& facts) {
  return make_replays(find_parts(facts), facts.traces(), facts.matches());
}

}  // namespace ringside::replay
