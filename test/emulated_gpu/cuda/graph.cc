// SPDX-License-Identifier: Apache-2.0
#include "graph.h"

#include <utility>

namespace emugpu {
namespace {

std::uint64_t next_graph_id() {
  static std::atomic<std::uint64_t> next{1};
  return next++;
}

}  // namespace

Graph::Graph() : id_(next_graph_id()) {}

std::shared_ptr<Graph> Graph::begin_capture() {
  std::shared_ptr<Graph> graph(new Graph);
  graph->self_ = graph;
  return graph;
}

void Graph::end_capture() {
  is_capturing_ = false;
  self_.reset();
}

void Graph::add(Work work) {
  const std::lock_guard lock(mutex_);
  works_.push_back(std::move(work));
}

void Graph::keep(std::shared_ptr<void> object) {
  const std::lock_guard lock(mutex_);
  objects_.push_back(std::move(object));
}

void Graph::replay(const std::shared_ptr<Graph>& graph, Stream& stream) {
  for (const Work& work : graph->works_) work(stream);
  stream.enqueue([graph] {});
}

}  // namespace emugpu
