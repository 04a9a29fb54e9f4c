// SPDX-License-Identifier: Apache-2.0
//
// Events: a point in a stream that hosts and other streams can wait for.
#pragma once

#include <cstdint>
#include <memory>

#include "stream.h"

namespace emugpu {

class Event {
 public:
  Event();

  std::uint32_t id() const { return id_; }

  // On a stream that is being captured, it marks a place there, and is not recorded.
  void record(Stream& stream);
  // In each replay of the graph.
  void record_in(Graph& graph) const;
  bool complete() const;
  void synchronize() const;
  // A stream that waits for a place in a graph is captured, too.
  void make_stream_wait(Stream& stream) const;

  // When the latest completed recording happened, on the monotonic clock.
  double milliseconds() const;

 private:
  struct State;

  static void record_now(const std::shared_ptr<State>& state, std::uint32_t id, Stream& stream);

  const std::uint32_t id_;

  // Shared with the tasks queued on streams: they may outlive the event.
  std::shared_ptr<State> state_;
};

}  // namespace emugpu
