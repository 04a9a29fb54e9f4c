// SPDX-License-Identifier: Apache-2.0
#include "event.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "activity.h"
#include "graph.h"

namespace emugpu {

struct Event::State {
  std::mutex mutex;
  std::condition_variable changed;
  std::uint64_t recorded = 0;
  std::uint64_t completed = 0;
  double milliseconds = 0;
  std::weak_ptr<Graph> graph;  // in which it marks a place

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
  {
    const std::lock_guard lock(state_->mutex);
    const std::shared_ptr<Graph> graph = stream.captured();
    state_->graph = graph;
    if (graph != nullptr) return;
  }
  record_now(state_, id_, stream);
}

void Event::record_in(Graph& graph) const {
  graph.add([state = state_, id = id_](Stream& stream) { record_now(state, id, stream); });
}

void Event::record_now(const std::shared_ptr<State>& state, std::uint32_t id, Stream& stream) {
  std::uint64_t recording;
  {
    const std::lock_guard lock(state->mutex);
    recording = ++state->recorded;
  }
  activity::Record record;
  record.kind = activity::Kind::kEvent;
  record.event = id;
  activity::enqueue(stream, record, [state, recording] {
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
  std::shared_ptr<Graph> graph;
  {
    const std::lock_guard lock(state_->mutex);
    graph = state_->graph.lock();
  }
  if (graph != nullptr && graph->is_capturing()) return stream.capture(graph);
  stream.submit([state = state_](Stream& of) {
    // Only recordings made before count, whatever is recorded later.
    of.enqueue([state, recording = state->latest_recording()] { state->wait_for(recording); });
  });
}

double Event::milliseconds() const {
  const std::lock_guard lock(state_->mutex);
  return state_->milliseconds;
}

}  // namespace emugpu
