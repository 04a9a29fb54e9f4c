// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/steps/step_path.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "analyzer/match/group_calls.h"
#include "analyzer/metrics/hang/late_cause.h"
#include "analyzer/metrics/steps/graphs_by_file.h"
#include "analyzer/model/saturating.h"

namespace ringside::metrics {
namespace {

constexpr std::uint32_t kNoNode = PathNode::kNone;
constexpr std::int64_t kEndless_ns = std::numeric_limits<std::int64_t>::max();

// The ends of a step beside the last one whose paths are known.
constexpr std::size_t kMostOthers = 16;

// The place to which the path goes from an operation of NCCL: to the rank that came last.
struct Jump {
  std::uint32_t process = 0;
  std::uint32_t node = kNoNode;  // kNoNode: it stays
  std::uint32_t operation = kNoNode;
  std::int64_t margin_ns = 0;
  std::int64_t unsure_ns = 0;
  bool is_sure = false;
  bool has_waited = false;
};

// When an operation was called, since the epoch by its host's clock. A replay of a CUDA graph was
// called when the graph was captured.
std::optional<std::int64_t> called_ns(const facts::Facts& facts, const match::Part& part) {
  const model::TraceFile& file = facts.traces().files[part.file];
  const model::Operation operation = match::operation_of(facts.traces(), part);
  return operation.enqueue_start_ns && !operation.graph
             ? std::optional(match::HostClock(file).at(*operation.enqueue_start_ns))
             : std::nullopt;
}

class OtherRanks {
 public:
  virtual ~OtherRanks() = default;
  virtual Jump jump(std::uint32_t process, std::uint32_t node) = 0;
  virtual std::int64_t to_common_ns(std::uint32_t process, std::int64_t epoch_ns) = 0;
};

// A process by itself: its operations wait for nobody that is known.
class Alone : public OtherRanks {
 public:
  Jump jump(std::uint32_t, std::uint32_t) override { return {}; }
  std::int64_t to_common_ns(std::uint32_t, std::int64_t epoch_ns) override { return epoch_ns; }
};

class AllRanks : public OtherRanks {
 public:
  AllRanks(const facts::Facts& facts, const std::vector<ProcessGraph>& graphs)
      : facts_(facts), graphs_(graphs), by_file_(graphs), matched_(graphs.size()) {
    for (const ProcessGraph& process : graphs) {
      clocks_.emplace_back(facts.traces().files[process.file]);
    }
    const match::Matches& matches = facts.matches();
    for (std::uint32_t i = 0; i < matches.operations.size(); ++i) {
      const match::MatchedOperation& operation = matches.operations[i];
      for (std::size_t k = 0; k < operation.part_count; ++k) {
        const match::Part part = matches.parts[operation.first_part + k];
        for (const std::uint32_t process : by_file_.of(part.file)) {
          matched_[process].emplace(part.operation, std::pair(i, part.member));
        }
      }
    }
  }

  // Several operations may be one kernel: the last cause of them all counts.
  Jump jump(std::uint32_t process, std::uint32_t node) override {
    const RankGraph& graph = graphs_[process].graph;
    Jump found;
    std::int64_t last_ns = std::numeric_limits<std::int64_t>::min();
    for (auto at = std::lower_bound(graph.of_node.begin(), graph.of_node.end(),
                                    std::pair<std::uint32_t, std::size_t>(node, 0));
         at != graph.of_node.end() && at->first == node; ++at) {
      const auto matched = matched_[process].find(static_cast<std::uint32_t>(at->second));
      if (matched == matched_[process].end()) {
        continue;
      }
      const auto& [operation, member] = matched->second;
      const auto cause = late_cause(facts_, operation, member, rows_);
      const std::int64_t arrival_ns = cause ? cause->arrival_ns : last_ns;
      if (found.operation != kNoNode && arrival_ns <= last_ns) {
        continue;
      }
      last_ns = arrival_ns;
      found = jump_of(operation, member, cause);
    }
    return found;
  }

  std::int64_t to_common_ns(std::uint32_t process, std::int64_t epoch_ns) override {
    return facts_.alignment().to_common_ns(graphs_[process].file, clocks_[process].when(epoch_ns));
  }

 private:
  Jump jump_of(std::uint32_t operation, std::uint32_t member,
               const std::optional<LateCause>& cause) {
    Jump jump;
    jump.operation = operation;
    const facts::RankTimes* own = nullptr;
    for (const facts::RankTimes& row : rows_) {
      own = row.member == member ? &row : own;
    }
    for (const facts::RankTimes& row : rows_) {
      if (own != nullptr && row.host != own->host) {
        const std::int64_t clock_ns = facts::clock_error_ns(*own, row);
        jump.unsure_ns = std::max(jump.unsure_ns, clock_ns);
      }
    }
    if (!cause || own == nullptr) {
      // Nobody waited: what let it begin is its own rank's. Others might have held it up next.
      jump.margin_ns = kEndless_ns;
      for (const facts::RankTimes& row : rows_) {
        if (own != nullptr && row.member != member) {
          jump.margin_ns = std::min(
              jump.margin_ns,
              std::max<std::int64_t>(0, subtract_saturating(own->arrival_ns, row.arrival_ns)));
        }
      }
      return jump;
    }
    jump.margin_ns = cause->is_sure ? kEndless_ns : 0;
    for (const facts::RankTimes& row : rows_) {
      if (row.member != cause->member) {
        const std::int64_t earlier_ns = subtract_saturating(cause->arrival_ns, row.arrival_ns);
        jump.margin_ns = std::clamp<std::int64_t>(earlier_ns, 0, jump.margin_ns);
      }
    }
    jump.is_sure = cause->is_sure;
    jump.has_waited = cause->member != member;
    const match::Part part = facts_.matches().parts[cause->part];
    const auto process = by_file_.at(part.file, part.operation, called_ns(facts_, part));
    if (jump.has_waited && process) {
      jump.process = *process;
      jump.node = graphs_[*process].graph.node_of(part.operation);
    }
    return jump;
  }

  const facts::Facts& facts_;
  const std::vector<ProcessGraph>& graphs_;
  GraphsByFile by_file_;
  std::vector<match::HostClock> clocks_;
  // By operation of the file: matched operation, and member.
  std::vector<std::unordered_map<std::uint32_t, std::pair<std::uint32_t, std::uint32_t>>> matched_;
  std::vector<facts::RankTimes> rows_;
};

// Where the paths of a step's ends went by: one that comes to such a place goes on as the other
// did.
class Passed {
 public:
  // All that decides how a path goes on.
  struct State {
    std::uint32_t process = 0;
    std::uint32_t node = 0;
    std::int64_t until_ns = 0;
    std::int64_t reached_ns = 0;
    std::int64_t waited_from_ns = 0;

    bool operator==(const State&) const = default;
  };
  struct Place {
    State state;
    std::size_t path = 0;
    std::size_t parts = 0;  // of that path, from its end to here
  };

  void begin_path() { ++path_; }

  /// The place of another path, if one was in this state; else notes this one.
  const Place* meet(const State& state, std::size_t parts) {
    const std::uint64_t key = std::uint64_t{state.process} << 32 | state.node;
    const auto [known, is_new] = places_.try_emplace(key, Place{state, path_, parts});
    return !is_new && known->second.state == state && known->second.path != path_ ? &known->second
                                                                                  : nullptr;
  }

 private:
  std::unordered_map<std::uint64_t, Place> places_;
  std::size_t path_ = 0;
};

class Walk {
 public:
  Walk(OtherRanks& others, std::function<const RankGraph&(std::uint32_t)> graph_of, StepPath& path,
       std::vector<Chains>* needs = nullptr, Passed* passed = nullptr)
      : others_(others),
        graph_of_(std::move(graph_of)),
        path_(path),
        needs_(needs),
        passed_(passed) {}

  /// The place at which the path came to one that is known: the parts before it are not made.
  const std::optional<Passed::Place>& met() const { return met_; }

  // From the node at `until_ns`, which is by the process's own clock.
  void go(std::uint32_t process, std::uint32_t node, std::int64_t until_ns) {
    process_ = process;
    node_ = node;
    until_ns_ = until_ns;
    std::size_t idle_steps = 0;
    while (node_ != kNoNode && common(until_ns_) > path_.start_ns && idle_steps < kMostIdle) {
      if (node_ == PathNode::kLeftOut) {
        throw std::logic_error("a part of the critical path was not kept");
      }
      if (meets_another()) {
        break;
      }
      const std::int64_t before_ns = common(until_ns_);
      step();
      idle_steps = common(until_ns_) < before_ns ? 0 : idle_steps + 1;
    }
    const std::int64_t reached_ns =
        path_.parts.empty() ? path_.end_ns : path_.parts.back().start_ns;
    if (reached_ns > path_.start_ns && !met_) {
      StepPart rest;
      rest.start_ns = path_.start_ns;
      rest.end_ns = reached_ns;
      rest.process = process_;
      rest.margin_ns = kEndless_ns;
      path_.parts.push_back(rest);
    }
    std::reverse(path_.parts.begin(), path_.parts.end());
    for (const StepPart& part : path_.parts) {
      path_.spent_ns[static_cast<std::size_t>(part.kind)] += part.end_ns - part.start_ns;
    }
  }

 private:
  // Damaged times might lead in a circle.
  static constexpr std::size_t kMostIdle = 1000;

  std::int64_t common(std::int64_t epoch_ns) { return others_.to_common_ns(process_, epoch_ns); }

  bool meets_another() {
    if (passed_ == nullptr) {
      return false;
    }
    Passed::State state;
    state.process = process_;
    state.node = node_;
    state.until_ns = until_ns_;
    state.reached_ns = path_.parts.empty() ? path_.end_ns : path_.parts.back().start_ns;
    state.waited_from_ns = waited_in_ == kNoNode ? kEndless_ns : path_.waits[waited_in_].start_ns;
    if (const Passed::Place* const place = passed_->meet(state, path_.parts.size())) {
      met_ = *place;
    }
    return met_.has_value();
  }

  // Notes that the path takes the chain behind this node, as far as it goes.
  void need_chain(std::uint32_t node) {
    const RankGraph& graph = graph_of_(process_);
    if (needs_ == nullptr || node >= graph.whole_places.size()) {
      return;
    }
    std::int64_t over_ns = until_ns_;
    for (std::int64_t back_ns = 1000; common(over_ns) > path_.start_ns && over_ns > 0;
         back_ns = multiply_saturating(back_ns, 2)) {
      over_ns = subtract_saturating(
          until_ns_, std::max(back_ns, subtract_saturating(common(until_ns_), path_.start_ns)));
    }
    auto& known_ns =
        (*needs_)[process_].try_emplace(graph.whole_places[node], over_ns).first->second;
    known_ns = std::min(known_ns, over_ns);
  }

  void step() {
    const PathNode* node = &graph_of_(process_).nodes[node_];
    std::uint32_t operation = kNoNode;
    std::int64_t margin_ns = kEndless_ns;
    if (node->kind == PathKind::kCommunication) {
      const Jump jump = others_.jump(process_, node_);
      operation = jump.operation;
      path_.unsure_ns = add_saturating(path_.unsure_ns, jump.unsure_ns);
      margin_ns = jump.operation == kNoNode ? 0 : jump.margin_ns;
      if (jump.node != kNoNode) {
        const std::int64_t own_ns = common(node->start_ns);
        const PathNode& other = graph_of_(jump.process).nodes[jump.node];
        const std::int64_t arrival_ns = others_.to_common_ns(jump.process, other.start_ns);
        const std::int64_t end_ns = common(until_ns_);
        if (arrival_ns < end_ns && arrival_ns > path_.start_ns) {
          add(arrival_ns, PathKind::kCommunication, operation, false, margin_ns);
          StepWait wait;
          wait.operation = operation;
          wait.by = process_;
          wait.waits_for = jump.process;
          wait.start_ns = std::min(own_ns, arrival_ns);
          wait.waited_ns = std::max<std::int64_t>(0, arrival_ns - own_ns);
          wait.is_sure = jump.is_sure;
          waited_in_ = static_cast<std::uint32_t>(path_.waits.size());
          path_.waits.push_back(wait);
          process_ = jump.process;
          node_ = jump.node;
          until_ns_ = other.start_ns;
          go_before(other, jump.node);
          return;
        }
      }
    }
    add(common(node->start_ns), node->kind, operation, false, margin_ns);
    until_ns_ = std::min(until_ns_, node->start_ns);
    go_before(*node, node_);
  }

  void go_before(const PathNode& node, std::uint32_t index) {
    need_chain(index);
    const std::int64_t ready_ns = std::min(node.ready_ns, until_ns_);
    // A part without a length carries the margin.
    add(common(ready_ns), node.gap, kNoNode, true, node.margin_ns, node.is_inferred);
    until_ns_ = ready_ns;
    node_ = node.before;
  }

  void add(std::int64_t start_ns, PathKind kind, std::uint32_t operation, bool is_gap,
           std::int64_t margin_ns, bool is_inferred = false) {
    start_ns = std::max(start_ns, path_.start_ns);
    // The parts follow each other without a gap, whatever the clocks of two ranks say.
    std::int64_t end_ns = path_.parts.empty() ? path_.end_ns : path_.parts.back().start_ns;
    start_ns = std::min(start_ns, end_ns);
    if (waited_in_ != kNoNode && end_ns <= path_.waits[waited_in_].start_ns) {
      waited_in_ = kNoNode;
    }
    if (waited_in_ != kNoNode && start_ns < path_.waits[waited_in_].start_ns) {
      const std::int64_t cut_ns = path_.waits[waited_in_].start_ns;
      put(cut_ns, end_ns, kind, operation, is_gap, kEndless_ns, is_inferred);
      waited_in_ = kNoNode;
      end_ns = cut_ns;
    }
    put(start_ns, end_ns, kind, operation, is_gap, margin_ns, is_inferred);
  }

  void put(std::int64_t start_ns, std::int64_t end_ns, PathKind kind, std::uint32_t operation,
           bool is_gap, std::int64_t margin_ns, bool is_inferred) {
    if (start_ns == end_ns && margin_ns == kEndless_ns) {
      return;
    }
    StepPart& part = path_.parts.emplace_back();
    part.start_ns = start_ns;
    part.end_ns = end_ns;
    part.process = process_;
    part.node = node_;
    part.kind = kind;
    part.operation = operation;
    part.waited_in = waited_in_;
    part.is_gap = is_gap;
    part.is_inferred = is_inferred;
    part.margin_ns = margin_ns;
  }

  OtherRanks& others_;
  std::function<const RankGraph&(std::uint32_t)> graph_of_;
  StepPath& path_;
  std::vector<Chains>* needs_;  // may be null, and so may the next
  Passed* passed_;
  std::optional<Passed::Place> met_;
  std::uint32_t process_ = 0;
  std::uint32_t node_ = kNoNode;
  std::int64_t until_ns_ = 0;
  std::uint32_t waited_in_ = kNoNode;
};

}  // namespace

StepPaths find_step_paths(const facts::Facts& facts, const std::vector<ProcessGraph>& graphs,
                          std::optional<std::size_t> instance, std::vector<Chains>* needs) {
  AllRanks others(facts, graphs);
  struct Root {
    std::uint32_t process = 0;
    const StepRoot* step = nullptr;
    std::int64_t end_ns = 0;
  };
  struct Found {
    std::vector<Root> roots;
    std::size_t processes = 0;
    std::int64_t start_ns = kEndless_ns;
    std::int64_t end_ns = std::numeric_limits<std::int64_t>::min();
    Root last;
  };
  std::map<std::pair<std::string, std::size_t>, Found> by_name;
  for (std::uint32_t i = 0; i < graphs.size(); ++i) {
    for (const StepRoot& step : graphs[i].graph.steps) {
      Found& found = by_name[{std::string(graphs[i].graph.names.text(step.name)), step.occurrence}];
      const Root root{i, &step, others.to_common_ns(i, step.end_ns)};
      found.roots.push_back(root);
      found.processes += step.is_last ? 1 : 0;
      found.start_ns = std::min(found.start_ns, others.to_common_ns(i, step.start_ns));
      if (root.end_ns > found.end_ns) {
        found.end_ns = root.end_ns;
        found.last = root;
      }
    }
  }
  std::vector<std::pair<std::string, const Found*>> order;
  order.reserve(by_name.size());
  for (const auto& [key, found] : by_name) {
    order.emplace_back(key.first, &found);
  }
  std::stable_sort(order.begin(), order.end(), [](const auto& one, const auto& other) {
    return one.second->end_ns < other.second->end_ns;
  });
  StepPaths paths;
  std::int64_t before_ns = std::numeric_limits<std::int64_t>::min();
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Found& found = *order[i].second;
    // A step begins where the one before it ended, unless there is a pause between them.
    const std::int64_t start_ns = std::max(found.start_ns, before_ns);
    const bool follows = before_ns != std::numeric_limits<std::int64_t>::min() &&
                         found.start_ns - before_ns < (found.end_ns - found.start_ns) / 10;
    if (!instance || *instance == i) {
      StepPath& path = paths.steps.emplace_back();
      path.name = order[i].first.empty() ? "the whole recording" : order[i].first;
      path.start_ns = follows ? std::min(before_ns, found.end_ns) : start_ns;
      path.end_ns = found.end_ns;
      path.last = found.last.process;
      path.processes = found.processes;
      const auto graph_of = [&](std::uint32_t process) -> const RankGraph& {
        return graphs[process].graph;
      };
      for (const Root& root : found.roots) {
        // The end may be another's, and so may that of the step before.
        const auto unsure_ns = facts.alignment().uncertainty_ns(
            graphs[root.process].file, graphs[found.last.process].file, found.end_ns);
        path.unsure_ns =
            std::max(path.unsure_ns, unsure_ns ? multiply_saturating(*unsure_ns, 2) : kEndless_ns);
      }
      Passed passed;
      Walk(others, graph_of, path, needs, &passed)
          .go(found.last.process, found.last.step->node, found.last.step->end_ns);
      std::vector<Root> roots = found.roots;
      std::stable_sort(roots.begin(), roots.end(), [](const Root& one, const Root& other) {
        return one.end_ns > other.end_ns;
      });
      for (const Root& root : roots) {
        const std::int64_t earlier_ns = found.end_ns - root.end_ns;
        std::int64_t free_ns = 0;
        if (root.step == found.last.step || earlier_ns >= path.length_ns()) {
          continue;
        }
        if (earlier_ns >= path.least_gain_ns([](const StepPart&) { return true; }, free_ns)) {
          break;
        }
        if (path.others.size() == kMostOthers) {
          path.rest_earlier_ns = earlier_ns;
          break;
        }
        StepPath other;
        other.start_ns = path.start_ns;
        other.end_ns = root.end_ns;
        passed.begin_path();
        Walk walk(others, graph_of, other, needs, &passed);
        walk.go(root.process, root.step->node, root.step->end_ns);
        StepPath::Other& added = path.others.emplace_back();
        added.earlier_ns = earlier_ns;
        if (walk.met()) {
          const std::size_t with = walk.met()->path;
          added.shared_with = with;
          added.shared_parts = (with == 0 ? path.parts.size()
                                          : path.others[with - 1].shared_parts +
                                                path.others[with - 1].parts.size()) -
                               walk.met()->parts;
        }
        added.parts = std::move(other.parts);
      }
      for (const StepWait& wait : path.waits) {
        paths.undecided += wait.is_sure ? 0 : 1;
      }
      for (const StepPart& part : path.parts) {
        paths.inferred += part.is_inferred ? 1 : 0;
      }
    }
    before_ns = std::max(before_ns, found.end_ns);
  }
  return paths;
}

std::vector<WaitPath> find_wait_paths(const facts::Facts& facts,
                                      const std::vector<ProcessGraph>& graphs,
                                      const std::vector<StepPath>& steps,
                                      std::vector<Chains>* needs) {
  AllRanks others(facts, graphs);
  const GraphsByFile by_file(graphs);
  const auto graph_of = [&](std::uint32_t process) -> const RankGraph& {
    return graphs[process].graph;
  };
  const match::Matches& matches = facts.matches();
  std::vector<WaitPath> paths;
  std::vector<facts::RankTimes> rows;
  for (std::uint32_t i = 0; i < matches.operations.size(); ++i) {
    if (facts.ranks_of(i, rows).is_impossible) {
      continue;
    }
    // The longest wait that is above what the clocks may be off by.
    const facts::RankTimes* longest = nullptr;
    const facts::RankTimes* last = nullptr;
    std::int64_t longest_ns = 0;
    for (std::uint32_t own = 0; own < rows.size(); ++own) {
      const facts::RankTimes& late = rows[waited_for(facts, i, rows, own)];
      const std::int64_t wait_ns = late.arrival_ns - rows[own].arrival_ns;
      if (wait_ns > longest_ns && wait_ns > facts::clock_error_ns(rows[own], late)) {
        longest = &rows[own];
        last = &late;
        longest_ns = wait_ns;
      }
    }
    if (longest == nullptr) {
      continue;
    }
    const facts::RankTimes& late = *last;
    const match::Part& other = matches.parts[late.part];
    const std::vector<std::uint32_t>& by = by_file.of(longest->file);
    const auto process = by_file.at(other.file, other.operation, called_ns(facts, other));
    if (by.empty() || !process) {
      continue;
    }
    const RankGraph& graph = graphs[*process].graph;
    const std::uint32_t node = graph.node_of(other.operation);
    if (node == kNoNode || graph.steps.empty()) {
      continue;
    }
    WaitPath path;
    path.start_ns = std::min(longest->arrival_ns, late.arrival_ns);
    path.end_ns = late.arrival_ns;
    if (std::none_of(steps.begin(), steps.end(), [&](const StepPath& step) {
          return path.end_ns > step.start_ns && path.end_ns <= step.end_ns;
        })) {
      continue;
    }
    Walk(others, graph_of, path, needs).go(*process, node, graph.nodes[node].start_ns);
    for (StepPart& part : path.parts) {
      part.waited_in = 0;
    }
    path.waits = {{i, by.front(), *process, path.start_ns, path.length_ns(), true}};
    paths.push_back(std::move(path));
  }
  return paths;
}

std::vector<StepPath> find_step_paths(const RankGraph& graph) {
  Alone others;
  std::vector<StepPath> paths;
  std::int64_t before_ns = std::numeric_limits<std::int64_t>::min();
  for (const StepRoot& step : graph.steps) {
    if (!step.is_last) {
      continue;
    }
    StepPath& path = paths.emplace_back();
    path.name = graph.names.text(step.name);
    path.start_ns = std::min(std::max(step.start_ns, before_ns), step.end_ns);
    path.end_ns = step.end_ns;
    path.processes = 1;
    Walk(
        others, [&](std::uint32_t) -> const RankGraph& { return graph; }, path)
        .go(0, step.node, step.end_ns);
    before_ns = std::max(before_ns, step.end_ns);
  }
  return paths;
}

}  // namespace ringside::metrics
