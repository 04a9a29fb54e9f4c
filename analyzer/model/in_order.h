// SPDX-License-Identifier: Apache-2.0
//
// Work of which a part can be done on all cores, and the rest only in its order.
#ifndef RINGSIDE_ANALYZER_MODEL_IN_ORDER_H
#define RINGSIDE_ANALYZER_MODEL_IN_ORDER_H

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "analyzer/model/parallel.h"

namespace ringside {

/// Says what a thread does next, so that no core waits while there is something to do. Thread-safe.
class OrderedTasks {
 public:
  enum class Step : std::uint8_t { kPrepare, kFinish, kNone };
  struct Next {
    Step step = Step::kNone;
    std::size_t task = 0;
  };

  OrderedTasks(std::size_t count, std::size_t most_ahead)
      : count_(count), is_prepared_(most_ahead) {}

  /// Ends the step that the thread had from next() before, and returns another one. Waits until
  /// there is one, and returns kNone once all is done or begun.
  Next next(const Next& before) {
    std::unique_lock lock(mutex_);
    if (before.step == Step::kPrepare) {
      is_prepared_[before.task % is_prepared_.size()] = true;
    } else if (before.step == Step::kFinish) {
      is_prepared_[before.task % is_prepared_.size()] = false;
      is_finishing_ = false;
      ++finished_;
    }
    changed_.notify_all();
    while (finished_ < count_) {
      if (!is_finishing_ && is_prepared_[finished_ % is_prepared_.size()]) {
        is_finishing_ = true;
        return {Step::kFinish, finished_};
      }
      if (begun_ < count_ && begun_ < finished_ + is_prepared_.size()) {
        return {Step::kPrepare, begun_++};
      }
      changed_.wait(lock);
    }
    return {};
  }

 private:
  const std::size_t count_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t begun_ = 0;
  std::size_t finished_ = 0;
  bool is_finishing_ = false;
  std::vector<bool> is_prepared_;  // of those that are begun and not finished
};

/// Calls prepare(thread, i) once for each i below `count`, on all cores, and after each finish(i),
/// one after the other, in the order of i. `thread` counts from 0 to core_count() - 1. At most
/// `most_ahead` are prepared, or being prepared, and not finished. So i % most_ahead can be the
/// place of what they share.
template <typename Prepare, typename Finish>
void in_order_on_cores(std::size_t count, std::size_t most_ahead, const Prepare& prepare,
                       const Finish& finish) {
  OrderedTasks tasks(count, most_ahead);
  for_each_on_cores(core_count(), [&](std::size_t thread, std::size_t /*i*/) {
    for (OrderedTasks::Next next = tasks.next({}); next.step != OrderedTasks::Step::kNone;
         next = tasks.next(next)) {
      if (next.step == OrderedTasks::Step::kPrepare) {
        prepare(thread, next.task);
      } else {
        finish(next.task);
      }
    }
  });
}

}  // namespace ringside

#endif  // RINGSIDE_ANALYZER_MODEL_IN_ORDER_H
