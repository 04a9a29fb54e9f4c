// SPDX-License-Identifier: Apache-2.0
//
// The critical path of a training's steps over all ranks: from the end of each step backwards, what
// each moment had to wait for, on the CPU, on the GPU and in NCCL's operations, and on which rank.
#ifndef RINGSIDE_ANALYZER_METRICS_STEPS_STEP_PATH_H
#define RINGSIDE_ANALYZER_METRICS_STEPS_STEP_PATH_H

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/facts/facts.h"
#include "analyzer/metrics/steps/graph_parts.h"
#include "analyzer/metrics/steps/rank_graph.h"
#include "analyzer/model/saturating.h"

namespace ringside::metrics {

/// The graph of the process of a trace. Graphs must not change while paths refer to them.
struct ProcessGraph {
  std::uint32_t file = 0;  // index into Traces::files
  RankGraph graph;
};

/// A stretch of a path. Times are on the common clock.
struct StepPart {
  static constexpr std::uint32_t kNone = PathNode::kNone;

  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::uint32_t process = 0;  // index into the graphs: whose time it was
  std::uint32_t node = 0;     // of its graph
  PathKind kind = PathKind::kUnknown;
  std::uint32_t operation = kNone;  // of kCommunication: index into Matches::operations
  std::uint32_t waited_in = kNone;  // of a rank that others waited for then: index into `waits`
  bool is_gap = false;              // before the node, not of it
  bool is_inferred = false;
  /// The cause that let this part begin was needed so much more than the next best. The greatest
  /// number if nothing else was needed.
  std::int64_t margin_ns = 0;
};

/// The path goes from one rank to the rank that it waited for.
struct StepWait {
  std::uint32_t operation = 0;  // index into Matches::operations
  std::uint32_t by = 0;         // index into the graphs: the rank at which the path waits
  std::uint32_t waits_for = 0;
  std::int64_t start_ns = 0;   // when the first one was there
  std::int64_t waited_ns = 0;  // until the other one was there
  bool is_sure = false;        // the clocks and the stamps leave no other rank
};

/// By how much a step would be shorter. The bounds hold if all else takes the time that it took,
/// and if what is not recorded needs nothing.
struct Gain {
  std::int64_t least_ns = 0;
  std::int64_t most_ns = 0;
};

struct StepPath {
  std::string name;
  std::int64_t start_ns = 0;    // the end of the step before, or the begin of the first
  std::int64_t end_ns = 0;      // common clock
  std::uint32_t last = 0;       // the process that ended last: index into the graphs
  std::size_t processes = 0;    // whose profile has the step
  std::vector<StepPart> parts;  // from the first to the last
  std::vector<StepWait> waits;
  /// The ends of the step on other ranks, streams and threads that came next, with what they waited
  /// for: if the last end comes earlier, one of these is the last. Those that come too early for
  /// that, whatever takes no time, are left out.
  struct Other {
    std::int64_t earlier_ns = 0;  // than the last end
    /// The first parts are as many of another path: 0 is this one, 1 the first of `others`.
    std::size_t shared_with = 0;
    std::size_t shared_parts = 0;
    std::vector<StepPart> parts;  // behind those
  };
  std::vector<Other> others;
  std::int64_t rest_earlier_ns = std::numeric_limits<std::int64_t>::max();  // of those left out
  std::array<std::int64_t, kPathKinds> spent_ns{};
  /// The clocks of several hosts leave open so much of the length and of each gain: where ranks
  /// came and went within it, the path may be another rank's.
  std::int64_t unsure_ns = 0;

  std::int64_t length_ns() const { return end_ns - start_ns; }

  /// The gain if the parts that are chosen took no time.
  template <typename Chosen>
  Gain gain(const Chosen& is_chosen) const {
    Gain gain;
    gain.least_ns = std::min(least_gain_ns(is_chosen, gain.most_ns), rest_earlier_ns);
    if (unsure_ns > 0) {
      gain.least_ns = std::max<std::int64_t>(0, subtract_saturating(gain.least_ns, unsure_ns));
      gain.most_ns = std::min(add_saturating(gain.most_ns, unsure_ns), length_ns());
    }
    return gain;
  }

  /// The least of that before clocks and ends that were left out are regarded, and the time of the
  /// parts that are chosen.
  template <typename Chosen>
  std::int64_t least_gain_ns(const Chosen& is_chosen, std::int64_t& free_ns) const {
    // Where another path leaves one that was followed before it, that one's gain is noted.
    std::vector<std::int64_t> gained_ns(others.size());
    std::int64_t least_ns = 0;
    for (std::size_t path = 0; path <= others.size(); ++path) {
      std::vector<std::pair<std::size_t, std::size_t>> leaving;  // after so many parts: which
      for (std::size_t i = path; i < others.size(); ++i) {
        if (others[i].shared_with == path) {
          leaving.emplace_back(others[i].shared_parts, i);
        }
      }
      std::sort(leaving.begin(), leaving.end());
      const std::vector<StepPart>& own = path == 0 ? parts : others[path - 1].parts;
      const std::size_t before = path == 0 ? 0 : others[path - 1].shared_parts;
      std::int64_t one_ns = path == 0 ? 0 : gained_ns[path - 1];
      auto next = leaving.begin();
      for (std::size_t k = 0; k <= own.size(); ++k) {
        for (; next != leaving.end() && next->first == before + k; ++next) {
          gained_ns[next->second] = one_ns;
        }
        if (k < own.size()) {
          const std::int64_t part_ns =
              is_chosen(own[k]) ? own[k].end_ns - own[k].start_ns : std::int64_t{0};
          free_ns += path == 0 ? part_ns : 0;
          one_ns = std::min(one_ns + part_ns, own[k].margin_ns);
        }
      }
      least_ns = path == 0 ? one_ns : std::min(least_ns, others[path - 1].earlier_ns + one_ns);
    }
    return least_ns;
  }
};

/// The work that a rank was in while another one waited for it in an operation, whether the end of
/// a step waited for that or not: `waits` has the one wait, and the parts fill it.
using WaitPath = StepPath;

struct StepPaths {
  std::vector<StepPath> steps;  // in the order of their ends
  std::uint64_t undecided = 0;  // waits that are not sure
  std::uint64_t inferred = 0;   // parts
};

/// `instance`: only this step, from 0. Steps of several ranks are one if they have the same name,
/// and are the same occurrence of it. Graphs may be condensed: then the parts are not those of the
/// path, and `needs`, of each process, are the chains that it takes. Without any, its graph is not
/// needed.
StepPaths find_step_paths(const facts::Facts& facts, const std::vector<ProcessGraph>& graphs,
                          std::optional<std::size_t> instance,
                          std::vector<Chains>* needs = nullptr);

/// The longest sure wait of each operation, where the graph of the rank that came last has it, and
/// its end is in one of these steps. `needs` likewise.
std::vector<WaitPath> find_wait_paths(const facts::Facts& facts,
                                      const std::vector<ProcessGraph>& graphs,
                                      const std::vector<StepPath>& steps,
                                      std::vector<Chains>* needs = nullptr);

/// The same of one process alone.
std::vector<StepPath> find_step_paths(const RankGraph& graph);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_STEPS_STEP_PATH_H
