// SPDX-License-Identifier: Apache-2.0
#include "event.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "activity.h"

namespace emugpu {

struct Event::State {
  std::mutex mutex;
  std::condition_variable changed;
  std::uint64_t recorded = 0;
  std::uint64_t completed = 0;
  double milliseconds = 0;

  void wait_for(std::uint64_t recording) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return completed >= recording; });
  }

  std::uint64_t latest_recording() {
    const std::lock_guard lock(mutex);
    return recorded;
  }
};

namespace {

std::uint32_t next_event_id() {
  static std::atomic<std::uint32_t> next{1};
  return next++;
}

}  // namespace

Event::Event() : id_(next_event_id()), state_(std::make_shared<State>()) {}

void Event::record(Stream& stream) {
  std::uint64_t recording;
  {
    const std::lock_guard lock(state_->mutex);
    recording = ++state_->recorded;
  }
  activity::Record record;
  record.kind = activity::Kind::kEvent;
  record.event = id_;
  activity::enqueue(stream, record, [state = state_, recording] {
    const std::chrono::duration<double, std::milli> now =
        std::chrono::steady_clock::now().time_since_epoch();
    const std::lock_guard lock(state->mutex);
    state->completed = std::max(state->completed, recording);
    state->milliseconds = now.count();
    state->changed.notify_all();
  });
}

bool Event::complete() const {
  const std::lock_guard lock(state_->mutex);
  return state_->completed >= state_->recorded;
}

void Event::synchronize() const {
  state_->wait_for(state_->latest_recording());
}

void Event::make_stream_wait(Stream& stream) const {
  // Only recordings made before this call count, whatever is recorded later.
  stream.enqueue(
      [state = state_, recording = state_->latest_recording()] { state->wait_for(recording); });
}

double Event::milliseconds() const {
  const std::lock_guard lock(state_->mutex);
  return state_->milliseconds;
}

}  // namespace emugpu
