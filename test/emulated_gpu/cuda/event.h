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

  void record(Stream& stream);
  bool complete() const;
  void synchronize() const;
  void make_stream_wait(Stream& stream) const;

  // When the latest completed recording happened, on the monotonic clock.
  double milliseconds() const;

 private:
  struct State;

  const std::uint32_t id_;

  // Shared with the tasks queued on streams: they may outlive the event.
  std::shared_ptr<State> state_;
};

}  // namespace emugpu
