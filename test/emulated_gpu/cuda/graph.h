// SPDX-License-Identifier: Apache-2.0
//
// Graphs, as captured from streams: the work in the order of the calls, which is one of the orders
// that the dependencies allow, so they are not kept. A replay runs it on one stream.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "stream.h"

namespace emugpu {

class Graph {
 public:
  using Work = std::function<void(Stream&)>;

  // Lives until its capture ends, for as long as it has an owner afterwards.
  static std::shared_ptr<Graph> begin_capture();
  void end_capture();

  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  std::uint64_t id() const { return id_; }
  bool is_capturing() const { return is_capturing_; }

  void add(Work work);
  // Lives as long as the graph and what was made of it.
  void keep(std::shared_ptr<void> object);

  static void replay(const std::shared_ptr<Graph>& graph, Stream& stream);

 private:
  Graph();

  const std::uint64_t id_;
  std::atomic<bool> is_capturing_{true};
  std::shared_ptr<Graph> self_;  // while it is captured
  std::mutex mutex_;
  std::vector<Work> works_;
  std::vector<std::shared_ptr<void>> objects_;
};

}  // namespace emugpu
