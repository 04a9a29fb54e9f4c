// SPDX-License-Identifier: Apache-2.0
#include "plugin/record/recorder.h"

#include <cstdint>
#include <cstring>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "plugin/record/encode.h"

namespace ringside::record {

constinit Recorder g_recorder;

void Recorder::prepare() noexcept {
  clock_source_ = find_clock_source();
  pid_ = static_cast<std::int32_t>(getpid());
  std::uint64_t random = 0;
  if (getrandom(&random, sizeof random, GRND_NONBLOCK) != static_cast<ssize_t>(sizeof random)) {
    random = ticks() * 0x9E3779B97F4A7C15U ^ (static_cast<std::uint64_t>(pid_) << 32);
  }
  secret_ = usable_secret(random);
  if (secret_ == 0) {
    secret_ = 1;
  }
  rings_.prepare();
}

void Recorder::wipe_on_fork() noexcept {
  const auto page_bytes = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  if (reinterpret_cast<std::uintptr_t>(this) % page_bytes == 0 && sizeof *this % page_bytes == 0) {
    madvise(this, sizeof *this, MADV_WIPEONFORK);
  }
}

void Recorder::count_without_ring(EventType type) noexcept {
  dropped_no_ring_[static_cast<std::size_t>(type)].fetch_add(1, std::memory_order_relaxed);
}

void Recorder::begin_range(const void* handle, const EventStart& event) const noexcept {
  const EventId id = decode(handle);
  const RangeHooks* const hooks = range_hooks_.load(std::memory_order_acquire);
  if (hooks != nullptr && is_recorded(id)) {
    hooks->start(id, event);
  }
}

void Recorder::end_range(const void* handle) const noexcept {
  const EventId id = decode(handle);
  const RangeHooks* const hooks = range_hooks_.load(std::memory_order_acquire);
  if (hooks != nullptr && is_event_id(id) && is_recorded(id) && can_have_range(event_type(id))) {
    hooks->stop(id);
  }
}

void* Recorder::unknown_event() noexcept {
  constexpr auto kUnknown = static_cast<std::size_t>(EventType::kUnknown);
  if (is_wiped()) {
    return not_recorded(EventType::kGroup, NotRecorded::kFiltered);
  }
  if (Ring* const ring = rings_.current(); ring != nullptr) {
    ProducerCounts::add(ring->counts.produced[kUnknown]);
    ProducerCounts::add(ring->counts.filtered[kUnknown]);
  } else {
    count_without_ring(EventType::kUnknown);
  }
  // The states and stop that follow are filed under a type's bits; any will do.
  return not_recorded(EventType::kGroup, NotRecorded::kFiltered);
}

}  // namespace ringside::record
