// SPDX-License-Identifier: Apache-2.0
#include "stream.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <pthread.h>
#include <string>
#include <thread>
#include <vector>

#include "device.h"
#include "graph.h"

namespace emugpu {
namespace {

struct Registry {
  std::mutex mutex;
  std::vector<std::shared_ptr<Stream>> streams;
  std::map<int, Stream*> default_streams;  // by device
};

Registry& registry() {
  static auto* const instance = new Registry;
  return *instance;
}

std::uint64_t next_stream_id() {
  static std::atomic<std::uint64_t> next{1};
  return next++;
}

}  // namespace

Stream::Stream(unsigned flags, int priority, int device)
    : flags_(flags), priority_(priority), device_(device), id_(next_stream_id()) {}

Stream* Stream::create(unsigned flags, int priority) {
  const std::shared_ptr<Stream> stream(new Stream(flags, priority, current_device()));
  {
    const std::lock_guard lock(registry().mutex);
    registry().streams.push_back(stream);
  }
  // Detached: a process may end while a kernel still waits for a peer that never comes.
  std::thread([stream] { stream->work(); }).detach();
  return stream.get();
}

void Stream::destroy(Stream* stream) {
  std::shared_ptr<Stream> keep_alive;
  {
    const std::lock_guard lock(registry().mutex);
    auto& streams = registry().streams;
    const auto found = std::find_if(streams.begin(), streams.end(),
                                    [&](const auto& each) { return each.get() == stream; });
    if (found == streams.end()) return;
    keep_alive = *found;
    streams.erase(found);
  }
  const std::lock_guard lock(stream->mutex_);
  stream->closing_ = true;
  stream->arrived_.notify_one();
}

Stream& Stream::from_handle(void* handle) {
  constexpr std::uintptr_t kLastReservedHandle = 2;
  if (reinterpret_cast<std::uintptr_t>(handle) > kLastReservedHandle) {
    return *static_cast<Stream*>(handle);
  }
  static auto* const creation = new std::mutex;
  const std::lock_guard lock(*creation);
  Stream*& stream = registry().default_streams[current_device()];
  if (stream == nullptr) stream = create(0, 0);
  return *stream;
}

void Stream::synchronize_device(int device) {
  std::vector<std::shared_ptr<Stream>> streams;
  {
    const std::lock_guard lock(registry().mutex);
    streams = registry().streams;
  }
  for (const auto& stream : streams) {
    if (stream->device() == device) stream->synchronize();
  }
}

void Stream::submit(std::function<void(Stream&)> work) {
  if (const std::shared_ptr<Graph> graph = captured()) {
    graph->add(std::move(work));
  } else {
    work(*this);
  }
}

void Stream::capture(const std::shared_ptr<Graph>& graph) {
  const std::lock_guard lock(mutex_);
  graph_ = graph;
}

std::shared_ptr<Graph> Stream::captured() {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Graph> graph = graph_.lock();
  return graph != nullptr && graph->is_capturing() ? graph : nullptr;
}

void Stream::enqueue(Task task) {
  if (const std::shared_ptr<Graph> graph = captured()) {
    return graph->add([task = std::move(task)](Stream& stream) { stream.enqueue(task); });
  }
  const std::lock_guard lock(mutex_);
  tasks_.push_back(std::move(task));
  arrived_.notify_one();
}

bool Stream::idle() {
  const std::lock_guard lock(mutex_);
  return drained();
}

void Stream::synchronize() {
  std::unique_lock lock(mutex_);
  drained_.wait(lock, [this] { return drained(); });
}

void Stream::work() {
  pthread_setname_np(pthread_self(), ("emugpu-s" + std::to_string(id_)).c_str());
  set_current_device(device_);
  std::unique_lock lock(mutex_);
  for (;;) {
    arrived_.wait(lock, [this] { return !tasks_.empty() || closing_; });
    if (tasks_.empty()) return;
    {
      const Task task = std::move(tasks_.front());
      tasks_.pop_front();
      busy_ = true;
      lock.unlock();
      task();
    }
    lock.lock();
    busy_ = false;
    if (tasks_.empty()) drained_.notify_all();
  }
}

}  // namespace emugpu
