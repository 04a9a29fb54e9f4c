// SPDX-License-Identifier: Apache-2.0
#include "analyzer/merge/in_order.h"

#include <utility>

namespace ringside::merge {

void InOrder::add(std::size_t task, std::string& text) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock,
                [&] { return task == first_ || waiting_bytes_ + text.size() <= most_bytes_; });
  if (task == first_) {
    lock.unlock();
    put_(text);
    text.clear();
    return;
  }
  waiting_bytes_ += text.size();
  waiting_[task].texts.push_back(std::move(text));
  text.clear();
  if (!spare_.empty()) {
    text = std::move(spare_.back());
    spare_.pop_back();
  }
}

void InOrder::end(std::size_t task) {
  std::unique_lock lock(mutex_);
  if (task != first_) {
    waiting_[task].has_ended = true;
    return;
  }
  // The next becomes the first when all that it has given so far is put.
  for (;;) {
    Waiting& next = waiting_[first_ + 1];
    if (!next.texts.empty()) {
      std::string text = std::move(next.texts.front());
      next.texts.pop_front();
      waiting_bytes_ -= text.size();
      changed_.notify_all();
      lock.unlock();
      put_(text);
      lock.lock();
      text.clear();
      spare_.push_back(std::move(text));
      continue;
    }
    const bool has_ended = next.has_ended;
    waiting_.erase(++first_);
    if (!has_ended) {
      break;
    }
  }
  changed_.notify_all();
}

}  // namespace ringside::merge
