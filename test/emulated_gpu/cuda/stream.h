// SPDX-License-Identifier: Apache-2.0
//
// Streams: each runs its tasks in order on a worker thread of its own.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

namespace emugpu {

class Graph;

class Stream {
 public:
  using Task = std::function<void()>;

  // The returned pointer is the handle that CUDA callers hold.
  static Stream* create(unsigned flags, int priority);

  // Returns at once; queued tasks still run, as CUDA promises.
  static void destroy(Stream* stream);

  // The stream behind a handle. The null handle and the two reserved ones (legacy, per-thread)
  // all stand for the current device's default stream.
  static Stream& from_handle(void* handle);

  static void synchronize_device(int device);

  // Now, or in the graph that is being captured.
  void enqueue(Task task);
  // Likewise; `work` puts tasks on the stream that it is given.
  void submit(std::function<void(Stream&)> work);

  // From now on what comes belongs to this graph, until its capture ends.
  void capture(const std::shared_ptr<Graph>& graph);
  // The graph that is being captured; null if none is.
  std::shared_ptr<Graph> captured();

  bool idle();
  void synchronize();

  unsigned flags() const { return flags_; }
  int priority() const { return priority_; }
  int device() const { return device_; }
  std::uint64_t id() const { return id_; }

 private:
  Stream(unsigned flags, int priority, int device);

  void work();
  bool drained() const { return tasks_.empty() && !busy_; }

  const unsigned flags_;
  const int priority_;
  const int device_;
  const std::uint64_t id_;

  std::mutex mutex_;
  std::condition_variable arrived_;
  std::condition_variable drained_;
  std::deque<Task> tasks_;
  std::weak_ptr<Graph> graph_;
  bool busy_ = false;
  bool closing_ = false;
};

}  // namespace emugpu
