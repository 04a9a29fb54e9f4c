// SPDX-License-Identifier: Apache-2.0
#include "plugin/session/activation_masks.h"

#include <algorithm>
#include <atomic>

namespace ringside::session {
namespace {

// NCCL reads a mask on other threads without a lock. An atomic access of the whole word is enough.
std::uint32_t load(int* mask) {
  return static_cast<std::uint32_t>(std::atomic_ref<int>(*mask).load(std::memory_order_relaxed));
}

}  // namespace

void ActivationMasks::open(std::uint32_t context, int* mask, const config::NcclFacts& nccl) {
  if (!contexts_.emplace(context, mask).second || mask == nullptr) {
    return;
  }
  auto found = std::find_if(masks_.begin(), masks_.end(),
                            [mask](const Mask& known) { return known.address == mask; });
  if (found == masks_.end()) {
    found = masks_.insert(masks_.end(), {mask, nccl});
  }
  found->nccl = nccl;
  ++found->contexts;
}

bool ActivationMasks::close(std::uint32_t context) {
  const auto closed = contexts_.find(context);
  if (closed == contexts_.end()) {
    return false;
  }
  int* const mask = closed->second;
  contexts_.erase(closed);
  std::erase_if(masks_,
                [mask](Mask& known) { return known.address == mask && --known.contexts == 0; });
  return true;
}

void ActivationMasks::choose(const Resolve& resolve, bool anew) {
  for (Mask& mask : masks_) {
    const std::uint32_t wanted = resolve(mask.nccl);
    mask.is_to_be_stored =
        mask.is_to_be_stored || anew || (mask.seen == mask.wanted && wanted != mask.wanted);
    mask.wanted = wanted;
  }
}

void ActivationMasks::store() {
  for (Mask& mask : masks_) {
    if (mask.is_to_be_stored) {
      std::atomic_ref<int>(*mask.address)
          .store(static_cast<int>(mask.wanted), std::memory_order_relaxed);
      mask.seen = mask.wanted;
      mask.is_to_be_stored = false;
    }
  }
}

std::uint32_t ActivationMasks::wanted() const {
  std::uint32_t types = 0;
  for (const Mask& mask : masks_) {
    types |= mask.wanted;
  }
  return types;
}

std::uint32_t ActivationMasks::missing() const {
  std::uint32_t types = 0;
  for (const Mask& mask : masks_) {
    types |= mask.is_to_be_stored ? 0 : mask.wanted & ~mask.seen;
  }
  return types;
}

std::vector<ActivationMasks::Change> ActivationMasks::look() {
  std::vector<Change> changes;
  for (Mask& mask : masks_) {
    const std::uint32_t holds = mask.is_to_be_stored ? mask.seen : load(mask.address);
    if (holds != mask.seen) {
      changes.push_back({mask.address, mask.nccl.version, mask.seen, holds});
      mask.seen = holds;
    }
  }
  return changes;
}

int ActivationMasks::actual() const {
  if (masks_.empty()) {
    return -1;
  }
  const auto changed = std::find_if(masks_.begin(), masks_.end(),
                                    [](const Mask& mask) { return mask.is_changed(); });
  return static_cast<int>(load(changed != masks_.end() ? changed->address : masks_.back().address));
}

}  // namespace ringside::session
