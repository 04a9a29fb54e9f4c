// SPDX-License-Identifier: Apache-2.0
#include "plugin/assemble/eviction.h"

#include <algorithm>

#include "plugin/record/encode.h"

namespace ringside::assemble {
namespace {

// What has been written and is only remembered has bounds of its own.
bool can_be_evicted(const Event& event, const Operations& operations) {
  const auto* const called = std::get_if<CallEvent>(&event.data);
  if (called == nullptr) {
    return true;
  }
  if (record::is_coll_like(event.type)) {
    return operations.is_unfinished(event.operation);
  }
  return called->call.end_ns == kUnknownTime || !(called->has_child || called->call.captured);
}

}  // namespace

bool Eviction::is_due(std::size_t held_events) {
  // What is evicted stays remembered at first. Until what was finished before it is forgotten
  // instead, one portion after the other would take longer than the rings have room for.
  const std::size_t early = most_events_ / 9 * 8;
  const bool is_near = held_events > (early + most_events_) / 2;
  const bool is_time = ++records_since_ > most_events_ / (is_near ? 256 : 128);
  return held_events > (is_time ? early : most_events_);
}

std::vector<record::EventId> Eviction::choose(const Events& events, const Operations& operations) {
  const std::size_t wanted = std::max<std::size_t>(most_events_ / 256, 1);
  std::vector<record::EventId> oldest;
  oldest.reserve(wanted);
  // What an earlier search passed over cannot be evicted any more.
  const auto searched = events.from(searched_until_);
  auto at = searched ? searched : events.oldest();
  // What is looked at soon is fetched: of the events ahead, and then of their operations.
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
