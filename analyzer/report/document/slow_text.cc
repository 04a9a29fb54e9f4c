// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/document/slow_text.h"

#include <algorithm>

#include "analyzer/report/document/numbers.h"

namespace ringside::report {

using replay::Group;
using replay::Job;
using replay::Slow;

std::string percent_text(double part) {
  return fixed(100 * part, 1) + " %";
}

std::string rank_name(const Job& job, std::uint32_t rank) {
  const replay::JobRank& one = job.ranks[rank];
  return one.host.empty() ? one.label : one.label + " (" + one.host + ")";
}

std::string names_of(const Slow& slow, const Job& job) {
  if (slow.group == Group::kRank) {
    return rank_name(job, slow.ranks.front());
  }
  if (slow.group == Group::kHost) {
    return "host " + job.ranks[slow.ranks.front()].host;
  }
  constexpr std::size_t kMostNamed = 4;
  const std::size_t count = slow.ranks.size();
  const std::size_t named = count > kMostNamed ? kMostNamed - 1 : count;
  std::string text;
  for (std::size_t i = 0; i < named; ++i) {
    text += (i == 0 ? "" : i + 1 == count ? " and " : ", ") + job.ranks[slow.ranks[i]].label;
  }
  return count > named ? text + " and " + std::to_string(count - named) + " more" : text;
}

bool are_several(const Slow& slow) {
  return slow.group == Group::kRole || slow.group == Group::kSeveral;
}

std::string slow_sentence(const Slow& slow, const Job& job) {
  std::string text = capitalised(names_of(slow, job)) + (are_several(slow) ? " slow" : " slows") +
                     " the job by about " + percent_text(slow.cost.best) + " (" +
                     fixed(100 * slow.cost.least, 1) + " to " + percent_text(slow.cost.most) + ")";
  if (slow.is_once()) {
    const double wall_ns = static_cast<double>(job.wall_ns);
    return text + ": once, by " + human_duration(slow.cost.best * wall_ns) + " in iteration " +
           std::to_string(slow.first_slow + 1) + " of " + std::to_string(slow.iterations);
  }
  if (slow.first_slow > slow.iterations / 10 &&
      2 * slow.slow_iterations > slow.iterations - slow.first_slow) {
    text += ", since iteration " + std::to_string(slow.first_slow + 1);
  } else if (2 * slow.slow_iterations < slow.iterations) {
    text += ", in " + std::to_string(slow.slow_iterations) + " of " +
            counted(slow.iterations, "iteration");
  }
  return text;
}

std::optional<Finding> slow_finding(const replay::RunReplay& run) {
  if (!run.slow().worst) {
    const std::optional<replay::Cost>& imbalance = run.slow().imbalance;
    if (!imbalance) {
      return std::nullopt;
    }
    // Work that communication hides is not seen.
    const std::vector<bool>& is_seen = run.what_if().times().is_seen;
    const auto hidden = std::count(is_seen.begin(), is_seen.end(), false);
    const std::string saved = 10 * static_cast<std::size_t>(hidden) > is_seen.size()
                                  ? "at least " + percent_text(imbalance->least) + " less"
                                  : "about " + percent_text(imbalance->best) + " less (" +
                                        fixed(100 * imbalance->least, 1) + " to " +
                                        percent_text(imbalance->most) + ")";
    return Finding{Severity::kNote, "imbalance",
                   "With the same work on all ranks the job would take " + saved +
                       "; who has more work changes from iteration to iteration"};
  }
  const Slow& worst = *run.slow().worst;
  const bool is_start = worst.is_once() && worst.first_slow == 0;
  Finding finding{is_start ? Severity::kNote : Severity::kError, "straggler",
                  slow_sentence(worst, run.job())};
  for (const std::uint32_t rank : worst.ranks) {
    if (const auto number = rank_number(run.job().ranks[rank].label)) {
      finding.ranks.push_back(static_cast<std::uint32_t>(*number));
    }
  }
  return finding;
}

std::string nobody_sentence(const replay::RunReplay& run) {
  const std::optional<std::uint32_t>& few = run.slow().unjudged_iterations;
  return run.slow().hides_roles ? "stages cannot be judged by the network's times; `ringside run "
                                  "-- COMMAND` shows them"
         : few ? "whether a rank slows the job cannot be judged: " + counted(*few, "iteration") +
                     (*few == 1 ? " was" : " were") +
                     " recorded; a longer recording shows it (`ringside run -- COMMAND`, or more "
                     "steps of the profiler)"
               : "no rank and no host slows the job by 2 % or more";
}

std::string unseen_sentence(const replay::Replays& replays) {
  if (replays.left_out > 0) {
    return "who slows the job cannot be judged without the " +
           counted(replays.left_out, "trace that --rank and --host leave out",
                   "traces that --rank and --host leave out");
  }
  const std::string command =
      replays.is_profiled ? "; profiles of all ranks with ProfilerActivity.CPU and CUDA show it"
                          : "; `ringside run -- COMMAND` records it";
  for (std::size_t i = 0; i < replays.coverage.size(); ++i) {
    const replay::Coverage& coverage = replays.coverage[i];
    const std::uint64_t unseen = coverage.operations - coverage.seen;
    if (!coverage.is_enough()) {
      return (replays.coverage.size() > 1 ? "run " + std::to_string(i + 1) + ": " : "") +
             (coverage.is_blind()
                  ? "who slows the job cannot be seen: no operation was seen to run on all of its "
                    "ranks"
                  : "whether a rank slows the job cannot be judged: " + std::to_string(unseen) +
                        " of " + counted(coverage.operations, "operation") +
                        (unseen == 1 ? " was" : " were") +
                        " not seen to run on all of their ranks") +
             command;
    }
  }
  for (const auto& run : replays.runs) {
    if (run->slow().unjudged_iterations || run->slow().hides_roles) {
      return nobody_sentence(*run);
    }
  }
  return replays.are_possible()
             ? ""
             : "who slows the job cannot be computed: a replay of what was recorded does "
               "not take the time that the job took";
}

bool is_open(const replay::Replays& replays) {
  return replays.is_profiled && !unseen_sentence(replays).empty();
}

}  // namespace ringside::report
