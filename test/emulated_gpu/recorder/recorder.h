// SPDX-License-Identifier: Apache-2.0
//
// The recorders of both interface versions share this. A handle is the event's number in this
// process, to which its lines refer; it is never a pointer, so it never dangles.
#pragma once

#include <atomic>

#include "journal.h"
#include "profiler_abi.h"

namespace recorder {

// $RECORDER_MASK, or all event types.
int activation_mask(int all_types);

const char* type_name(std::uint64_t type);

inline std::uint64_t next_number() {
  static std::atomic<std::uint64_t> next{1};
  return next++;
}

inline void* handle_of(std::uint64_t number) {
  return reinterpret_cast<void*>(number);
}
inline std::uint64_t number_of(const void* handle) {
  return reinterpret_cast<std::uint64_t>(handle);
}

// The beginning of a line about a new event; sets its handle.
template <class Event>
Line begin_event(void* context, void** handle, const Event& event) {
  const std::uint64_t number = next_number();
  *handle = handle_of(number);
  Line line("start");
  line.number("context", number_of(context)).number("event", number);
  line.text("type", type_name(event.type)).number("parent", number_of(event.parent));
  line.integer("rank", event.rank);
  return line;
}

inline void add_proxy_operation(Line& line, const profiler_abi::ProxyOperation& operation) {
  line.integer("pid", operation.pid).number("channel", operation.channel);
  line.integer("peer", operation.peer).integer("steps", operation.step_count);
  line.integer("chunk_size", operation.chunk_size).integer("is_send", operation.is_send);
}

profiler_abi::Result stop_event(void* handle);
profiler_abi::Result finalize(void* context);

}  // namespace recorder
