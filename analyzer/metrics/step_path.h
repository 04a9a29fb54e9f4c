// SPDX-License-Identifier: Apache-2.0
//
// The critical path of a training's steps over all ranks: from the end of each step backwards, what
// each moment had to wait for, on the CPU, on the GPU and in NCCL's operations, and on which rank.
#ifndef RINGSIDE_ANALYZER_METRICS_STEP_PATH_H
#define RINGSIDE_ANALYZER_METRICS_STEP_PATH_H

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/facts/facts.h"
#include "analyzer/metrics/rank_graph.h"
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
  /// for: if the last end comes earlier, one of these is the last.
  struct Other {
    std::int64_t earlier_ns = 0;  // than the last end
    std::vector<StepPart> parts;
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
    gain.least_ns = gained(parts, is_chosen, gain.most_ns);
    gain.least_ns = std::min(gain.least_ns, rest_earlier_ns);
    for (const Other& other : others) {
      std::int64_t free_ns = 0;
      if (other.earlier_ns < gain.least_ns) {
        const std::int64_t gained_ns = gained(other.parts, is_chosen, free_ns);
        gain.least_ns = std::min(gain.least_ns, other.earlier_ns + gained_ns);
      }
    }
    if (unsure_ns > 0) {
      gain.least_ns = std::max<std::int64_t>(0, subtract_saturating(gain.least_ns, unsure_ns));
      gain.most_ns = std::min(add_saturating(gain.most_ns, unsure_ns), length_ns());
    }
    return gain;
  }

 private:
  // How much earlier the end of these parts is at least, if those that are chosen take no time.
  template <typename Chosen>
  static std::int64_t gained(const std::vector<StepPart>& of, const Chosen& is_chosen,
                             std::int64_t& free_ns) {
    std::int64_t gained_ns = 0;
    for (const StepPart& part : of) {
      const std::int64_t part_ns = is_chosen(part) ? part.end_ns - part.start_ns : 0;
      free_ns += part_ns;
      gained_ns = std::min(gained_ns + part_ns, part.margin_ns);
    }
    return gained_ns;
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
/// and are the same occurrence of it.
StepPaths find_step_paths(const facts::Facts& facts, const std::vector<ProcessGraph>& graphs,
                          std::optional<std::size_t> instance);

/// The longest sure wait of each operation, where the graph of the rank that came last has it.
std::vector<WaitPath> find_wait_paths(const facts::Facts& facts,
                                      const std::vector<ProcessGraph>& graphs);

/// The same of one process alone.
std::vector<StepPath> find_step_paths(const RankGraph& graph);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_STEP_PATH_H
