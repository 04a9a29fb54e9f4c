// SPDX-License-Identifier: Apache-2.0
#include "analyzer/replay/critical_path.h"

#include <algorithm>
#include <utility>

#include "analyzer/model/saturating.h"

namespace ringside::replay {
namespace {

class Walk {
 public:
  explicit Walk(RunReplay& run)
      : job_(run.job()), times_(run.what_if().times()), replay_(run.what_if().as_it_was()) {
    path_.of_rank_ns.resize(job_.ranks.size());
  }

  CriticalPath take() {
    std::uint32_t at = 0;
    for (std::uint32_t kernel = 0; kernel < job_.kernels.size(); ++kernel) {
      at = replay_.end_ns(kernel) > replay_.end_ns(at) ? kernel : at;
    }
    path_.length_ns = replay_.end_ns(at);
    // From the end of a kernel to the end before it that it waited for.
    while (at != kNone) {
      at = before_start(last_to_come(at));
    }
    std::reverse(path_.parts.begin(), path_.parts.end());
    return std::move(path_);
  }

 private:
  void add(Spent spent, std::uint32_t kernel, std::int64_t time_ns) {
    if (time_ns > 0) {
      const std::uint32_t rank = job_.kernels[kernel].rank;
      path_.parts.push_back({spent, kernel, rank, time_ns});
      for (auto* const sums : {&path_.spent_ns, &path_.of_rank_ns[rank]}) {
        std::int64_t& sum_ns = (*sums)[static_cast<std::size_t>(spent)];
        sum_ns = add_saturating(sum_ns, time_ns);
      }
    }
  }

  // The kernel for whose start the end of this one waited, in the transfer that ended last.
  std::uint32_t last_to_come(std::uint32_t kernel) {
    const std::int64_t end_ns = replay_.end_ns(kernel);
    std::uint32_t last = kernel;
    std::int64_t longest_ns = end_ns - replay_.start_ns(kernel);
    for (const std::uint32_t number : job_.transfers_of(kernel)) {
      const Transfer& transfer = job_.transfers[number];
      for (const std::uint32_t member : job_.kernels_of(transfer)) {
        // Of all that it may have waited for, the one after whose start it took just that long.
        if (replay_.start_ns(member) + transfer.time_ns == end_ns &&
            end_ns - replay_.start_ns(member) < longest_ns) {
          last = member;
          longest_ns = transfer.time_ns;
        }
      }
    }
    add(Spent::kTransfer, last, longest_ns);
    return last;
  }

  // The kernel whose end the start of this one waited for; kNone: it is the begin of the run.
  std::uint32_t before_start(std::uint32_t kernel) {
    const std::uint32_t before = job_.kernels[kernel].stream_before;
    if (before != kNone && replay_.end_ns(before) >= replay_.ready_ns(kernel)) {
      return before;
    }
    for (;;) {
      const Anchor anchor = times_.anchors[kernel];
      if (anchor.kernel == kNone) {
        return kNone;
      }
      const Kernel& one = job_.kernels[kernel];
      const std::int64_t own_ns = times_.own_ns[kernel];
      const std::int64_t after_ns = std::clamp<std::int64_t>(one.start_ns - one.call_ns, 0, own_ns);
      add(Spent::kAfterCall, kernel, after_ns);
      add(Spent::kBeforeCall, kernel, own_ns - after_ns);
      if (anchor.is_end) {
        return anchor.kernel;
      }
      kernel = anchor.kernel;  // ready for that one, it went on
    }
  }

  const Job& job_;
  const OwnTimes& times_;
  const Replay& replay_;
  CriticalPath path_;
};

}  // namespace

CriticalPath find_critical_path(RunReplay& run) {
  return run.is_possible() ? Walk(run).take() : CriticalPath{};
}

}  // namespace ringside::replay
