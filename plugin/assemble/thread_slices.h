// SPDX-License-Identifier: Apache-2.0
//
// The slices of the application's threads: NCCL's calls and the application's ranges, which share
// one track of the trace. Within a thread, slices must nest, and no two may begin or end at the
// same time. Used by one thread.
#ifndef RINGSIDE_PLUGIN_ASSEMBLE_THREAD_SLICES_H
#define RINGSIDE_PLUGIN_ASSEMBLE_THREAD_SLICES_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "plugin/assemble/rows.h"

namespace ringside::assemble {

// Perfetto computes in microseconds, as doubles. Above 2^42 microseconds, in the second half of the
// 91 days of Kineto's base, a double resolves 1 ns. A start, a duration and their sum are each
// rounded to that. Slices that touch must not overlap after the rounding.
inline constexpr std::int64_t kLeastGap_ns = 4;

class ThreadSlices {
 public:
  /// The time for a slice's begin or end at `ts_ns`, later than all earlier ones of the thread.
  std::int64_t boundary_ns(std::int32_t tid, std::int64_t ts_ns) {
    std::int64_t& last_ns = of(tid).last_ns;
    last_ns = std::max(ts_ns, last_ns + kLeastGap_ns);
    return last_ns;
  }
  void begin(std::int32_t tid, record::EventId id) { of(tid).open.push_back(id); }
  struct End {
    std::int64_t ts_ns;
    bool nests;  ///< it was the innermost slice of its thread, and ended on that thread
  };
  /// A slice that began on `tid` at `start_ns` is ended by `by_tid`.
  End end(std::int32_t tid, std::int32_t by_tid, record::EventId id, std::int64_t start_ns,
          std::int64_t ts_ns);
  /// Forgets a slice that ends without a record of its end.
  void drop(std::int32_t tid, record::EventId id) { std::erase(of(tid).open, id); }
  /// Forgets the oldest slices of each thread, up to the first one that `is_known(id)`.
  template <typename IsKnown>
  void drop_unknown(IsKnown is_known) {
    for (auto& [tid, thread] : threads_) {
      // Slices are in the order of their starts, and eviction takes the oldest first.
      const auto kept = std::find_if(thread.open.begin(), thread.open.end(), is_known);
      thread.open.erase(thread.open.begin(), kept);
    }
  }

  /// The end of an open slice that is written at `now_ns`, late enough for the slices within it:
  /// they may have begun at a later time than `now_ns`, by a few nanoseconds each.
  std::int64_t end_of_open_ns(std::int32_t tid, record::EventId id, std::int64_t start_ns,
                              std::int64_t now_ns) const;

  /// A callback of the thread has come, and the thread's next kernel launch comes after it.
  void precede_launch(std::int32_t tid, std::int64_t ts_ns) {
    std::int64_t& before_ns = of(tid).before_launch_ns;
    before_ns = std::max(before_ns, ts_ns);
  }
  /// The latest time given to precede_launch(); kUnknownTime: none.
  std::int64_t before_launch_ns(std::int32_t tid) { return of(tid).before_launch_ns; }
  /// Whether slices of the thread are known, and none has begun or ended after this time.
  bool is_silent_since(std::int32_t tid, std::int64_t ts_ns) const {
    const auto found = threads_.find(tid);
    return found != threads_.end() && found->second.last_ns <= ts_ns;
  }

  /// Forgets the threads that have no open slice and of which nothing was seen for a while. In a
  /// process, threads may come and go for weeks.
  void forget_idle(std::int64_t now_ns);
  std::size_t known_threads() const { return threads_.size(); }
  void clear();

 private:
  static constexpr std::size_t kLeastThreads = 1024;

  struct Thread {
    std::vector<record::EventId> open;  // slices, the innermost last
    std::int64_t last_ns = 0;
    std::int64_t before_launch_ns = kUnknownTime;
  };
  // Remembers the last thread, since successive records are mostly of the same one.
  Thread& of(std::int32_t tid) {
    if (last_.second == nullptr || last_.first != tid) {
      last_ = {tid, &threads_[tid]};
    }
    return *last_.second;
  }

  std::unordered_map<std::int32_t, Thread> threads_;
  std::pair<std::int32_t, Thread*> last_{0, nullptr};  // last look-up, in threads_
  std::size_t forget_at_ = kLeastThreads;              // size of threads_ for a search
};

}  // namespace ringside::assemble

#endif  // RINGSIDE_PLUGIN_ASSEMBLE_THREAD_SLICES_H
