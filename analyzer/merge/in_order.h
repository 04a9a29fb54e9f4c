// SPDX-License-Identifier: Apache-2.0
//
// The texts of tasks that run on several threads, in the order of the tasks.
#ifndef RINGSIDE_ANALYZER_MERGE_IN_ORDER_H
#define RINGSIDE_ANALYZER_MERGE_IN_ORDER_H

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ringside::merge {

/// Tasks have numbers from 0 on, and are begun in this order: so the first that has not ended never
/// waits for another.
class InOrder {
 public:
  /// `put` gets the texts, one after the other, on any of the threads. At most `most_bytes` wait
  /// for tasks before theirs, and one text of each thread.
  InOrder(std::function<void(std::string_view)> put, std::size_t most_bytes)
      : put_(std::move(put)), most_bytes_(most_bytes) {}

  /// Takes the text of a task, and leaves it empty. Waits while too much is waiting.
  void add(std::size_t task, std::string& text);
  /// The task has no more texts.
  void end(std::size_t task);

 private:
  struct Waiting {
    std::deque<std::string> texts;
    bool has_ended = false;
  };

  const std::function<void(std::string_view)> put_;
  const std::size_t most_bytes_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t first_ = 0;  // its thread alone calls put_
  std::map<std::size_t, Waiting> waiting_;
  std::size_t waiting_bytes_ = 0;
  std::vector<std::string> spare_;  // memory of texts that were put
};

}  // namespace ringside::merge

#endif  // RINGSIDE_ANALYZER_MERGE_IN_ORDER_H
