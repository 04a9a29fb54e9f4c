// SPDX-License-Identifier: Apache-2.0
#include "analyzer/replay/replay.h"

#include <algorithm>
#include <deque>
#include <unordered_map>

#include "analyzer/model/saturating.h"

namespace ringside::replay {

Replay::Replay(const Job& job, const OwnTimes& times)
    : job_(job),
      times_(times),
      ready_ns_(job.kernels.size()),
      starts_ns_(job.kernels.size()),
      ends_ns_(job.kernels.size()),
      pending_(job.kernels.size()),
      missing_(job.transfers.size()) {
  find_order();
}

void Replay::clear() {
  std::fill(ends_ns_.begin(), ends_ns_.end(), 0);
  for (std::uint32_t kernel = 0; kernel < pending_.size(); ++kernel) {
    // One more, so that a kernel without transfers has not ended before it started.
    pending_[kernel] = static_cast<std::uint32_t>(job_.transfers_of(kernel).size()) + 1;
  }
  for (std::size_t i = 0; i < missing_.size(); ++i) {
    missing_[i] = job_.transfers[i].member_count;
  }
}

template <typename Own, typename Time, typename Ended>
void Replay::start(std::uint32_t kernel, const Own& own, const Time& time, const Ended& ended) {
  const Anchor anchor = times_.anchors[kernel];
  const std::uint32_t before = job_.kernels[kernel].stream_before;
  ready_ns_[kernel] =
      anchor.kernel == kNone
          ? 0
          : add_saturating(anchor.is_end ? ends_ns_[anchor.kernel] : ready_ns_[anchor.kernel],
                           own(kernel));
  starts_ns_[kernel] =
      before == kNone ? ready_ns_[kernel] : std::max(ready_ns_[kernel], ends_ns_[before]);
  const auto end = [&](std::uint32_t one, std::int64_t end_ns) {
    ends_ns_[one] = std::max(ends_ns_[one], end_ns);
    if (--pending_[one] == 0) {
      ended(one);
    }
  };
  const auto transfers = job_.transfers_of(kernel);
  end(kernel,
      add_saturating(starts_ns_[kernel], transfers.empty() ? job_.kernels[kernel].wall_ns() : 0));
  for (const std::uint32_t number : transfers) {
    if (--missing_[number] > 0) {
      continue;
    }
    const Transfer& transfer = job_.transfers[number];
    const auto members = job_.kernels_of(transfer);
    const std::int64_t time_ns = time(number);
    std::int64_t last_ns = 0;
    for (const std::uint32_t member : members) {
      last_ns = std::max(last_ns, starts_ns_[member]);
    }
    for (const std::uint32_t member : members) {
      const bool is_root = member == members.front();
      const std::int64_t needed_ns =
          transfer.needs == Needs::kAll || (transfer.needs == Needs::kToRoot && is_root) ? last_ns
          : transfer.needs == Needs::kFromRoot
              ? std::max(starts_ns_[member], starts_ns_[members.front()])
              : starts_ns_[member];
      end(member, add_saturating(needed_ns, time_ns));
    }
  }
}

// The order depends on who needs whom only, and not on how long anything takes. So it is found
// once.
void Replay::find_order() {
  clear();
  order_.reserve(job_.kernels.size());
  std::vector<std::uint32_t> next(job_.ranks.size());
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> waiting;  // ranks, by kernel
  std::deque<std::uint32_t> ready;
  for (std::uint32_t rank = 0; rank < job_.ranks.size(); ++rank) {
    ready.push_back(rank);
  }
  while (!ready.empty()) {
    const std::uint32_t rank = ready.front();
    ready.pop_front();
    const JobRank& one = job_.ranks[rank];
    while (next[rank] < one.kernel_count) {
      const std::uint32_t kernel = one.first_kernel + next[rank];
      const Anchor anchor = times_.anchors[kernel];
      const std::uint32_t before = job_.kernels[kernel].stream_before;
      const std::uint32_t unknown = !is_known(before)                           ? before
                                    : anchor.is_end && !is_known(anchor.kernel) ? anchor.kernel
                                                                                : kNone;
      if (unknown != kNone) {
        waiting[unknown].push_back(rank);
        break;
      }
      order_.push_back(kernel);
      ++next[rank];
      start(
          kernel, [](std::uint32_t) { return std::int64_t{0}; },
          [](std::uint32_t) { return std::int64_t{0}; },
          [&](std::uint32_t ended) {
            if (const auto found = waiting.find(ended); found != waiting.end()) {
              ready.insert(ready.end(), found->second.begin(), found->second.end());
              waiting.erase(found);
            }
          });
    }
  }
}

std::int64_t Replay::run(std::span<const std::int64_t> own_ns,
                         std::span<const std::int64_t> transfer_ns) {
  clear();
  for (const std::uint32_t kernel : order_) {
    start(
        kernel, [&](std::uint32_t one) { return own_ns[one]; },
        [&](std::uint32_t transfer) { return transfer_ns[transfer]; }, [](std::uint32_t) {});
  }
  return ends_ns_.empty() ? 0 : *std::max_element(ends_ns_.begin(), ends_ns_.end());
}

}  // namespace ringside::replay
