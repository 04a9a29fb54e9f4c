// SPDX-License-Identifier: Apache-2.0
//
// Calls on the application's threads: GroupApi, CollApi, P2pApi, KernelLaunch and Group events, and
// the enqueues of operations. With sampling, an ended call is held until it is known whether one of
// its operations is kept. Used by one thread.
#ifndef RINGSIDE_PLUGIN_ASSEMBLE_CALLS_H
#define RINGSIDE_PLUGIN_ASSEMBLE_CALLS_H

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "plugin/assemble/event.h"
#include "plugin/assemble/operations/open_operation.h"
#include "plugin/assemble/record_view.h"
#include "plugin/assemble/sink.h"
#include "plugin/assemble/tables/name_table.h"
#include "plugin/assemble/thread_slices.h"
#include "plugin/record/encode.h"

namespace ringside::assemble {

class Calls {
 public:
  Calls(Events& events, ThreadSlices& slices, RowWriter& rows)
      : events_(events), slices_(slices), rows_(rows) {}

  /// A call has begun. Enqueues begin with start_enqueue() instead.
  void start(const RecordView& view, const NameTable& names);

  /// The calls around the enqueue of an operation.
  struct Surroundings {
    Event* group = nullptr;  ///< NULL: not known
    Event* call = nullptr;   ///< the API call; NULL: not known
    bool is_first_of_call = true;
    std::int64_t enqueue_start_ns = kUnknownTime;
    std::int64_t mask_read_ns = kUnknownTime;  ///< when NCCL read its activation mask for it
  };
  /// The enqueue of an operation has begun. Adds to `open` what its API call and its group tell.
  Surroundings join(const RecordView& view, OpenOperation& open);
  /// Tells the calls around an operation whether it is kept. A call is kept if one of its
  /// operations is.
  void count_operation(const Surroundings& around, bool is_kept);
  /// Makes the event of an enqueue.
  void start_enqueue(const RecordView& view, const Operation& operation, std::int64_t start_ns);

  /// A call has ended. Writes it, or holds it while sampling may still leave it out. Erases the
  /// event if nothing will refer to it.
  void stop(const RecordView& view, Event& event, bool is_sampling);
  static bool has_ended(const Event& event) {
    const auto* const called = std::get_if<CallEvent>(&event.data);
    return called != nullptr && called->call.end_ns != kUnknownTime;
  }

  /// Calls write(const CallEvent&, bool in_flight) with each API call that has no operation, except
  /// captured calls. NCCL reports nothing more of such a call.
  template <typename Write>
  void for_each_childless(Write write) const;
  /// Does the same with the calls for which no operation can come any more, and forgets them.
  template <typename Write>
  void settle(std::int64_t now_ns, Write write);
  static Operation api_operation(const CallEvent& called, std::uint64_t number);
  /// Whether the call, or the group in which it was made, has not returned.
  bool is_in_flight(const CallEvent& called) const {
    return called.call.end_ns == kUnknownTime || is_in_group(called);
  }

  void release(Event& event);
  Call open_row(record::EventId id, const Event& event, std::int64_t now_ns) const;
  /// The row of a call that is given up before its stop has come. It does not nest: other slices of
  /// its thread may end, or begin, after this time.
  Call row_without_stop(record::EventId id, const Event& event, std::int64_t now_ns) const;
  /// The callbacks that the row stands for. An enqueue's are counted with its operation.
  static Tally tally(const Event& event) {
    return record::is_coll_like(event.type) ? Tally{} : event.tally();
  }
  /// Forgets a call together with its operation, unless the call was captured.
  void forget(record::EventId id, std::int64_t now_ns);
  void keep_captured(std::size_t most) {
    if (captured_.size() > most) {
      forget_oldest_captured();
    }
  }
  void clear();

 private:
  bool is_in_group(const CallEvent& called) const {
    return called.parent != 0 && events_.contains(called.parent);
  }
  bool is_over(CallEvent& called, std::int64_t now_ns) const;
  void forget_oldest_captured();
  bool must_be_held(record::EventId id, const CallEvent& called);
  void write(const Event& event);

  Events& events_;
  ThreadSlices& slices_;
  RowWriter& rows_;
  std::deque<record::EventId> captured_;
  std::vector<record::EventId> childless_;
};

template <typename Write>
void Calls::for_each_childless(Write write) const {
  for (const record::EventId id : childless_) {
    const Event* const event = events_.find(id);
    const auto* const called = event != nullptr ? std::get_if<CallEvent>(&event->data) : nullptr;
    if (called != nullptr && !called->has_child) {
      write(*called, is_in_flight(*called));
    }
  }
}

template <typename Write>
void Calls::settle(std::int64_t now_ns, Write write) {
  std::erase_if(childless_, [&](record::EventId id) {
    Event* const event = events_.find(id);
    if (event == nullptr || std::get<CallEvent>(event->data).has_child) {
      return true;
    }
    auto& called = std::get<CallEvent>(event->data);
    if (!is_over(called, now_ns)) {
      return false;
    }
    release(*event);
    write(called, false);
    events_.erase(id);
    return true;
  });
}

}  // namespace ringside::assemble

#endif  // RINGSIDE_PLUGIN_ASSEMBLE_CALLS_H
