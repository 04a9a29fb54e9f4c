// SPDX-License-Identifier: Apache-2.0
//
// The slices of the application's threads: NCCL's calls and the application's ranges, which share
// one row of the trace. Within a thread, slices must nest, and no two may begin or end at the same
// time. Used by one thread.
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

// Perfetto computes in doubles of microseconds. Above 2^42 of them, which is the second half of the
// 91 days of Kineto's base, these resolve 1 ns, and a start, a duration and their sum are rounded
// each: slices that touch must not overlap there.
inline constexpr std::int64_t kLeastGap_ns = 4;

class ThreadSlices {
 public:
  /// The time of a slice's begin or end, which is later than all before on this thread.
  std::int64_t boundary_ns(std::int32_t tid, std::int64_t ts_ns) {
    std::int64_t& last_ns = of(tid).last_ns;
    last_ns = std::max(ts_ns, last_ns + kLeastGap_ns);
    return last_ns;
  }
  /// A slice has begun.
  void begin(std::int32_t tid, record::EventId id) { of(tid).open.push_back(id); }
  struct End {
    std::int64_t ts_ns;
    bool nests;  ///< it is the innermost one of its thread, and ends on it
  };
  /// A slice ends, which began at `start_ns` on the first thread, by what the second does.
  End end(std::int32_t tid, std::int32_t by_tid, record::EventId id, std::int64_t start_ns,
          std::int64_t ts_ns);
  /// Forgets a slice that ends without a record of that.
  void drop(std::int32_t tid, record::EventId id) { std::erase(of(tid).open, id); }
  /// Forgets the oldest slices of all threads up to one that `is_known(id)`.
  template <typename IsKnown>
  void drop_unknown(IsKnown is_known) {
    for (auto& [tid, thread] : threads_) {
      // In the order of their starts, as what was evicted is.
      const auto kept = std::find_if(thread.open.begin(), thread.open.end(), is_known);
      thread.open.erase(thread.open.begin(), kept);
    }
  }

  /// Where a slice that is still open ends if it is written now, so that the slices within it end
  /// within it.
  std::int64_t end_of_open_ns(std::int32_t tid, record::EventId id, std::int64_t start_ns,
                              std::int64_t now_ns) const;

  /// Something was seen of a thread, behind which its next launch of a kernel comes.
  void precede_launch(std::int32_t tid, std::int64_t ts_ns) {
    std::int64_t& before_ns = of(tid).before_launch_ns;
    before_ns = std::max(before_ns, ts_ns);
  }
  /// When the last of that was; kUnknownTime: none was seen.
  std::int64_t before_launch_ns(std::int32_t tid) { return of(tid).before_launch_ns; }
  /// Whether slices of the thread are known, and none has begun or ended after this time.
  bool is_silent_since(std::int32_t tid, std::int64_t ts_ns) const {
    const auto found = threads_.find(tid);
    return found != threads_.end() && found->second.last_ns <= ts_ns;
  }

  /// A process may have threads that come and go for weeks. Those without an open slice of which
  /// nothing was seen for a while are forgotten.
  void forget_idle(std::int64_t now_ns);
  std::size_t known_threads() const { return threads_.size(); }
  void clear();

 private:
  static constexpr std::size_t kLeastThreads = 1024;

  struct Thread {
    std::vector<record::EventId> open;  // the innermost last
    std::int64_t last_ns = 0;
    std::int64_t before_launch_ns = kUnknownTime;
  };
  // Records of one thread mostly follow each other.
  Thread& of(std::int32_t tid) {
    if (last_.second == nullptr || last_.first != tid) {
      last_ = {tid, &threads_[tid]};
    }
    return *last_.second;
  }

  std::unordered_map<std::int32_t, Thread> threads_;
  std::pair<std::int32_t, Thread*> last_{0, nullptr};  // looked up last; in threads_
  std::size_t forget_at_ = kLeastThreads;              // size of threads_
};

}  // namespace ringside::assemble

#endif  // RINGSIDE_PLUGIN_ASSEMBLE_THREAD_SLICES_H
