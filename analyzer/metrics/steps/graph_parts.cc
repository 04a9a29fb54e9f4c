// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/steps/graph_parts.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

namespace ringside::metrics {
namespace {

constexpr std::uint32_t kNothing = PathNode::kNone;

// The nodes that every part of a graph has.
std::vector<bool> stops_of(const RankGraph& whole) {
  std::vector<bool> is_stop(whole.nodes.size());
  for (std::size_t i = 0; i < whole.nodes.size(); ++i) {
    is_stop[i] = whole.nodes[i].kind == PathKind::kCommunication;
  }
  for (const StepRoot& step : whole.steps) {
    is_stop[step.node] = true;
  }
  return is_stop;
}

// Nodes of a whole graph, in their order, as a graph of their own.
class Part {
 public:
  Part(const RankGraph& whole, const std::vector<bool>& is_in) : whole_(whole) {
    part_.has_gpu = whole.has_gpu;
    part_.has_syncs = whole.has_syncs;
    part_.begin_ns = whole.begin_ns;
    part_.whole_nodes = whole.nodes.size();
    const auto count = static_cast<std::size_t>(std::count(is_in.begin(), is_in.end(), true));
    part_.nodes.reserve(count);
    places_.reserve(count);
    for (std::uint32_t i = 0; i < is_in.size(); ++i) {
      if (is_in[i]) {
        part_.nodes.push_back(whole.nodes[i]);
        places_.push_back(i);
      }
    }
    for (const auto& [operation, node] : whole.of_operation) {
      part_.of_operation.emplace_back(operation, here(node));
    }
    for (const auto& [node, operation] : whole.of_node) {
      part_.of_node.emplace_back(here(node), operation);
    }
    for (StepRoot step : whole.steps) {
      step.node = here(step.node);
      step.name = name_here(step.name);
      part_.steps.push_back(step);
    }
  }

  RankGraph& graph() { return part_; }
  std::vector<std::uint32_t>& places() { return places_; }

  std::uint32_t here(std::uint32_t node) const {
    const auto found = std::lower_bound(places_.begin(), places_.end(), node);
    return found != places_.end() && *found == node
               ? static_cast<std::uint32_t>(found - places_.begin())
               : PathNode::kLeftOut;
  }

  model::NameId name_here(model::NameId name) { return part_.names.id(whole_.names.text(name)); }

 private:
  const RankGraph& whole_;
  RankGraph part_;
  std::vector<std::uint32_t> places_;  // in the whole graph, by node
};

// Where the nodes that are no stops lead: to which stop, and how far back in time.
class Ways {
 public:
  Ways(const RankGraph& whole, const std::vector<bool>& is_stop)
      : whole_(whole), is_stop_(is_stop), ways_(whole.nodes.size()) {}

  struct Way {
    std::int64_t earliest_ns = std::numeric_limits<std::int64_t>::max();
    std::uint32_t stop = kUnseen;  // kNothing: to none
  };

  Way of(std::uint32_t node) {
    std::vector<std::uint32_t> chain;
    std::uint32_t at = node;
    for (; at != kNothing && !is_stop_[at] && ways_[at].stop == kUnseen;
         at = whole_.nodes[at].before) {
      ways_[at].stop = kNothing;  // if damaged times lead back to here
      chain.push_back(at);
    }
    Way way;
    way.stop = at;
    if (at != kNothing && !is_stop_[at]) {
      way = ways_[at];
    }
    for (; !chain.empty(); chain.pop_back()) {
      const PathNode& passed = whole_.nodes[chain.back()];
      way.earliest_ns = std::min({way.earliest_ns, passed.start_ns, passed.ready_ns});
      ways_[chain.back()] = way;
    }
    return way;
  }

 private:
  static constexpr std::uint32_t kUnseen = PathNode::kLeftOut;

  const RankGraph& whole_;
  const std::vector<bool>& is_stop_;
  std::vector<Way> ways_;
};

}  // namespace

RankGraph condensed(const RankGraph& whole) {
  const std::vector<bool> is_stop = stops_of(whole);
  Part part(whole, is_stop);
  Ways ways(whole, is_stop);
  RankGraph& graph = part.graph();
  std::unordered_map<std::uint32_t, std::uint32_t> made;  // nodes that stand for several, by first
  const std::size_t stops = graph.nodes.size();
  for (std::size_t i = 0; i < stops; ++i) {
    graph.nodes[i].label = 0;
    const std::uint32_t before = graph.nodes[i].before;
    if (before == kNothing) {
      continue;
    }
    if (is_stop[before]) {
      graph.nodes[i].before = part.here(before);
      continue;
    }
    const auto [known, is_new] =
        made.try_emplace(before, static_cast<std::uint32_t>(graph.nodes.size()));
    graph.nodes[i].before = known->second;
    if (is_new) {
      const Ways::Way way = ways.of(before);
      PathNode& several = graph.nodes.emplace_back();
      several.start_ns = several.ready_ns = way.earliest_ns;
      several.before = way.stop == kNothing ? kNothing : part.here(way.stop);
    }
  }
  graph.whole_places = std::move(part.places());
  return std::move(graph);
}

std::vector<bool> nodes_of(const RankGraph& whole, const Chains& chains) {
  std::vector<bool> is_in = stops_of(whole);
  // Those that go back furthest come first, so that one that meets another needs no more of it.
  std::vector<std::pair<std::int64_t, std::uint32_t>> order;
  order.reserve(chains.size());
  for (const auto& [node, until_ns] : chains) {
    order.emplace_back(until_ns, node);
  }
  std::sort(order.begin(), order.end());
  for (const auto& [until_ns, node] : order) {
    for (std::uint32_t at = whole.nodes[node].before; at != kNothing && !is_in[at];
         at = whole.nodes[at].before) {
      is_in[at] = true;
      if (whole.nodes[at].start_ns <= until_ns && whole.nodes[at].ready_ns <= until_ns) {
        break;
      }
    }
  }
  return is_in;
}

RankGraph part_of(const RankGraph& whole, const std::vector<bool>& is_in) {
  Part part(whole, is_in);
  RankGraph& graph = part.graph();
  graph.labels = whole.labels;
  for (PathLabel& label : graph.labels) {
    for (model::NameId* const name : {&label.name, &label.where, &label.module, &label.line}) {
      *name = part.name_here(*name);
    }
  }
  for (PathNode& node : graph.nodes) {
    node.before = node.before == kNothing ? kNothing : part.here(node.before);
  }
  return std::move(part.graph());
}

}  // namespace ringside::metrics
