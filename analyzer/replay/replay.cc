// SPDX-License-Identifier: Apache-2.0
#include "analyzer/replay/replay.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "analyzer/model/saturating.h"

namespace ringside::replay {

Replay::Replay(const Job& job, const OwnTimes& times)
    : job_(job),
      times_(times),
      place_of_(job.kernels.size()),
      ready_ns_(job.kernels.size()),
      starts_ns_(job.kernels.size()),
      ends_ns_(job.kernels.size()) {
  make_steps();
  members_.reserve(job_.members.size());
  for (const std::uint32_t member : job_.members) {
    members_.push_back(place_of_[member]);
  }
}

// The order depends on who needs whom only, and not on how long anything takes. So it is found
// once. A kernel has ended once all kernels of its transfers have started.
void Replay::make_steps() {
  steps_.reserve(job_.kernels.size());
  transfers_.reserve(job_.transfers.size());
  std::vector<std::uint32_t> missing;  // kernels of each transfer that have not started
  missing.reserve(job_.transfers.size());
  for (const Transfer& transfer : job_.transfers) {
    missing.push_back(transfer.member_count);
  }
  std::vector<std::uint32_t> next;  // kernel of each rank
  std::vector<std::uint32_t> ready(job_.ranks.size());
  std::iota(ready.begin(), ready.end(), 0);
  for (const JobRank& rank : job_.ranks) {
    next.push_back(rank.first_kernel);
  }
  std::vector<std::uint32_t> awaited(job_.ranks.size(), kNone);  // an own kernel of each rank
  std::vector<std::uint32_t> woken;
  const auto has_ended = [&](std::uint32_t kernel) {  // one that has started
    const auto transfers =
        kernel == kNone ? std::span<const std::uint32_t>{} : job_.transfers_of(kernel);
    return std::all_of(transfers.begin(), transfers.end(),
                       [&](std::uint32_t transfer) { return missing[transfer] == 0; });
  };
  const auto place_of = [&](std::uint32_t kernel) {
    return kernel == kNone ? kNone : place_of_[kernel];
  };
  for (; !ready.empty(); std::swap(ready, woken), woken.clear()) {
    for (const std::uint32_t rank : ready) {
      const JobRank& one = job_.ranks[rank];
      for (; next[rank] < one.first_kernel + one.kernel_count; ++next[rank]) {
        const std::uint32_t kernel = next[rank];
        const Anchor anchor = times_.anchors[kernel];
        const std::uint32_t before = job_.kernels[kernel].stream_before;
        awaited[rank] = !has_ended(before)                           ? before
                        : anchor.is_end && !has_ended(anchor.kernel) ? anchor.kernel
                                                                     : kNone;
        if (awaited[rank] != kNone) {
          break;
        }
        const std::span<const std::uint32_t> transfers = job_.transfers_of(kernel);
        place_of_[kernel] = static_cast<std::uint32_t>(steps_.size());
        for (const std::uint32_t number : transfers) {
          if (--missing[number] == 0) {
            transfers_.push_back(number);
            for (const std::uint32_t member : job_.kernels_of(job_.transfers[number])) {
              std::uint32_t& awaited_there = awaited[job_.kernels[member].rank];
              if (awaited_there == member && has_ended(member)) {
                woken.push_back(job_.kernels[member].rank);
                awaited_there = kNone;
              }
            }
          }
        }
        steps_.push_back({place_of(anchor.kernel), place_of(before),
                          static_cast<std::uint32_t>(transfers_.size()), anchor.is_end,
                          transfers.empty()});
        if (transfers.empty()) {
          alone_ns_.push_back(job_.kernels[kernel].wall_ns());
        }
      }
    }
  }
}

void Replay::end_transfer(std::uint32_t transfer, std::int64_t time_ns) {
  const Transfer& one = job_.transfers[transfer];
  const auto members = std::span(members_).subspan(one.first_member, one.member_count);
  std::int64_t last_ns = 0;
  for (const std::uint32_t member : members) {
    last_ns = std::max(last_ns, starts_ns_[member]);
  }
  for (const std::uint32_t member : members) {
    const bool is_root = member == members.front();
    const std::int64_t needed_ns =
        one.flow == facts::Flow::kAll || (one.flow == facts::Flow::kToRoot && is_root) ? last_ns
        : one.flow == facts::Flow::kFromRoot
            ? std::max(starts_ns_[member], starts_ns_[members.front()])
            : starts_ns_[member];
    ends_ns_[member] = std::max(ends_ns_[member], add_saturating(needed_ns, time_ns));
  }
}

std::int64_t Replay::run(std::span<const std::int64_t> own_ns,
                         std::span<const std::int64_t> transfer_ns) {
  std::size_t alone = 0;
  std::uint32_t transfer = 0;
  for (std::uint32_t place = 0; place < steps_.size(); ++place) {
    const Step& step = steps_[place];
    const std::int64_t ready_ns =
        step.anchor == kNone
            ? 0
            : add_saturating(step.is_anchor_end ? ends_ns_[step.anchor] : ready_ns_[step.anchor],
                             own_ns[place]);
    const std::int64_t start_ns =
        step.before == kNone ? ready_ns : std::max(ready_ns, ends_ns_[step.before]);
    ready_ns_[place] = ready_ns;
    starts_ns_[place] = start_ns;
    ends_ns_[place] = add_saturating(start_ns, step.is_alone ? alone_ns_[alone++] : 0);
    for (; transfer < step.transfers_end; ++transfer) {
      end_transfer(transfers_[transfer], transfer_ns[transfers_[transfer]]);
    }
  }
  return ends_ns_.empty() ? 0 : *std::max_element(ends_ns_.begin(), ends_ns_.end());
}

}  // namespace ringside::replay
