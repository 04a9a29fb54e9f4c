// SPDX-License-Identifier: Apache-2.0
//
// The things that each moment of one process waited for: its CPU threads, the kernels and copies on
// its GPU's streams, and its operations of NCCL, as PyTorch's profiler and Ringside's trace saw
// them. Everything has one thing that let it begin: the last of what it needed. So the graph is a
// forest, of which only the branches are kept that lead to the end of a step or to an operation.
#ifndef RINGSIDE_ANALYZER_METRICS_STEPS_RANK_GRAPH_H
#define RINGSIDE_ANALYZER_METRICS_STEPS_RANK_GRAPH_H

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/model/kineto/kineto.h"

namespace ringside::metrics {

/// The kinds of things that a path's time is spent on.
enum class PathKind : std::uint8_t {
  kKernel,    // a kernel that is none of NCCL's
  kCopy,      // a copy, or a setting of memory
  kOperator,  // the CPU in an operator
  kLaunch,    // calls of CUDA, from a launch to its kernel, and between two kernels of a stream
  kCommunication,  // an operation of NCCL, once all ranks were there that it needs
  kDataLoader,     // the CPU waits for a DataLoader
  kIdle,           // the CPU is in no operator
  kUnknown,        // nothing is recorded
};
inline constexpr std::size_t kPathKinds = 8;

/// A stretch of a thread or a stream. Times are nanoseconds since the epoch, by the host's clock.
struct PathNode {
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::uint32_t kLeftOut = kNone - 1;  // of a graph's part: `before` is not in it

  std::int64_t start_ns = 0;
  /// When it could begin: the time from then to start_ns is spent on `gap`.
  std::int64_t ready_ns = 0;
  /// The next of what it needed was there so much earlier; the greatest number if it needed nothing
  /// else.
  std::int64_t margin_ns = std::numeric_limits<std::int64_t>::max();
  std::uint32_t before = kNone;  // the node that let it begin
  std::uint32_t label = 0;       // of RankGraph::labels
  std::uint32_t call = kNone;    // of KinetoTrace::runtime: the call that waited
  PathKind kind = PathKind::kUnknown;
  PathKind gap = PathKind::kLaunch;
  bool is_inferred = false;  // what let it begin is not recorded, but follows from times
};

/// The names of a node, of RankGraph::names.
struct PathLabel {
  model::NameId name = model::kNoName;    // a kernel, operator or call
  model::NameId where = model::kNoName;   // the operator that launched it, or in which it is
  model::NameId module = model::kNoName;  // "nn.Module: Linear_0", where it is known
  model::NameId line = model::kNoName;    // "train.py:17 in step", likewise

  auto operator<=>(const PathLabel&) const = default;
};

/// An end of a range of the application that is a step: of its thread, or of what was launched
/// within it on a stream.
struct StepRoot {
  model::NameId name = model::kNoName;
  std::size_t occurrence = 0;  // of that name
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::uint32_t node = PathNode::kNone;  // that was under way then
  bool is_last = false;                  // of the ends of this step on this rank
};

/// An operation of the trace that ran to its end, with times since the epoch by the host's clock.
struct GraphOperation {
  std::size_t operation = 0;            // of TraceFile::operations
  std::optional<std::size_t> activity;  // its kernel, of KinetoTrace::activities
  std::uint32_t context = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::optional<std::int64_t> called_ns;
  std::int64_t thread = 0;
};

struct RankGraph {
  std::vector<PathNode> nodes;
  std::vector<std::pair<std::size_t, std::uint32_t>> of_operation;  // operation and node, sorted
  std::vector<std::pair<std::uint32_t, std::size_t>> of_node;       // the same by node
  std::vector<StepRoot> steps;           // in the order of the begins; the last end of each first
  std::vector<PathLabel> labels = {{}};  // the first is that of no name
  model::NameTable names;
  /// When the recording of the CPU began; the smallest number without one.
  std::int64_t begin_ns = std::numeric_limits<std::int64_t>::min();
  bool has_gpu = false;
  bool has_syncs = false;
  std::size_t whole_nodes = 0;  // of a part (graph_parts.h): as many the whole graph has
  std::vector<std::uint32_t> whole_places;  // of one that is condensed: of its first nodes, there

  const PathLabel& label_of(const PathNode& node) const { return labels[node.label]; }
  bool is_condensed() const { return !whole_places.empty(); }
  std::uint32_t node_of(std::size_t operation) const;
};

/// Returns which nodes of a graph get labels, which cost most of its making.
using ChooseLabelled = std::function<std::vector<bool>(const RankGraph&)>;

/// Steps are the ranges of record_function whose names contain `annotation`; without it
/// ProfilerStep. If there are none, the whole recording is one. All nodes get labels if nothing
/// chooses.
RankGraph build_rank_graph(const model::KinetoTrace& trace,
                           std::span<const GraphOperation> operations,
                           const std::optional<std::string>& annotation,
                           const ChooseLabelled& choose_labelled = nullptr);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_STEPS_RANK_GRAPH_H
