// SPDX-License-Identifier: Apache-2.0
#include "plugin/assemble/thread_slices.h"

namespace ringside::assemble {
namespace {

// After this long, no late record of a thread can touch the thread's last slice.
constexpr std::int64_t kIdleThread_ns = 10'000'000'000;

}  // namespace

ThreadSlices::End ThreadSlices::end(std::int32_t tid, std::int32_t by_tid, record::EventId id,
                                    std::int64_t start_ns, std::int64_t ts_ns) {
  std::vector<record::EventId>& open = of(tid).open;
  if (tid == by_tid && !open.empty() && open.back() == id) {
    open.pop_back();
    return {boundary_ns(tid, ts_ns), true};
  }
  std::erase(open, id);
  return {std::max(ts_ns, start_ns), false};
}

std::int64_t ThreadSlices::end_of_open_ns(std::int32_t tid, record::EventId id,
                                          std::int64_t start_ns, std::int64_t now_ns) const {
  const auto thread = threads_.find(tid);
  if (thread == threads_.end()) {
    return std::max(now_ns, start_ns);
  }
  const std::vector<record::EventId>& open = thread->second.open;
  const auto own = std::find(open.begin(), open.end(), id);
  const auto inner = own != open.end() ? open.end() - own - 1 : 0;
  return std::max({now_ns, start_ns, thread->second.last_ns}) + inner * kLeastGap_ns;
}

// The table is searched only when it has doubled since the last search, so each entry costs little.
void ThreadSlices::forget_idle(std::int64_t now_ns) {
  if (threads_.size() < forget_at_) {
    return;
  }
  std::erase_if(threads_, [&](const auto& entry) {
    return entry.second.open.empty() && now_ns - entry.second.last_ns >= kIdleThread_ns;
  });
  last_ = {};
  forget_at_ = std::max(kLeastThreads, 2 * threads_.size());
}

void ThreadSlices::clear() {
  threads_.clear();
  last_ = {};
}

}  // namespace ringside::assemble
