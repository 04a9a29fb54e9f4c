// SPDX-License-Identifier: Apache-2.0
#include "plugin/assemble/operations/eviction.h"

#include <algorithm>

#include "plugin/record/encode.h"

namespace ringside::assemble {
namespace {

// Written calls and enqueues that are only kept for late records, and ranges of the application,
// have limits of their own.
bool can_be_evicted(const Event& event, const Operations& operations) {
  const auto* const called = std::get_if<CallEvent>(&event.data);
  if (called == nullptr) {
    return !std::holds_alternative<Mark>(event.data);
  }
  if (record::is_coll_like(event.type)) {
    return operations.is_unfinished(event.operation);
  }
  return called->call.end_ns == kUnknownTime || !(called->has_child || called->call.captured);
}

}  // namespace

std::vector<record::EventId> Eviction::choose(const Events& events, const Operations& operations) {
  const std::size_t wanted = std::max<std::size_t>(most_events_ / 256, 1);
  std::vector<record::EventId> oldest;
  oldest.reserve(wanted);
  // Events that an earlier search passed over cannot be evicted later either.
  const auto searched = events.from(searched_until_);
  auto at = searched ? searched : events.oldest();
  // Prefetches the events ahead, and then their operations.
  constexpr std::size_t kAhead = 8;
  auto next = at, after_next = at;
  const auto fetch_operation = [&] {
    if (next) {
      operations.fetch_value(next.value().operation);
      next.next();
    }
  };
  const auto fetch_event = [&] {
    if (after_next) {
      after_next.fetch();
      after_next.next();
    }
  };
  for (std::size_t i = 0; i < 2 * kAhead; ++i) {
    fetch_event();
  }
  for (std::size_t i = 0; i < kAhead; ++i) {
    fetch_operation();
  }
  for (; at && oldest.size() < wanted; at.next()) {
    fetch_event();
    fetch_operation();
    if (can_be_evicted(at.value(), operations)) {
      oldest.push_back(at.id());
    }
  }
  searched_until_ = at ? at.id() : 0;
  records_since_ = 0;
  return oldest;
}

}  // namespace ringside::assemble
