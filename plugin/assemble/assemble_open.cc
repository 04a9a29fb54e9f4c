// SPDX-License-Identifier: Apache-2.0
//
// What is open: shown in flight for a dump and at the end, and given up, oldest first, where too
// much of it is kept.
#include <algorithm>

#include "plugin/assemble/assembler.h"
#include "plugin/record/encode.h"

namespace ringside::assemble {

using record::EventId;
using record::EventType;

// Of an event that is not a call.
void Assembler::write_open_row(Sink& sink, const Event& event, std::int64_t now_ns) {
  const Tally tally = event.tally();
  const auto in_flight = [](auto row) {
    row.in_flight = true;
    return row;
  };
  if (const auto* proxy = std::get_if<ProxyOpEvent>(&event.data)) {
    const ProxyOpRow row = in_flight(proxy->row);
    sink.row(&row, tally);
  } else if (const auto* step = std::get_if<StepEvent>(&event.data)) {
    StepEvent open = *step;
    open.row.in_flight = true;
    split_time(open, now_ns);
    sink.row(&open.row, tally);
  } else if (const auto* kernel = std::get_if<KernelRow>(&event.data)) {
    KernelRow row = in_flight(*kernel);
    row.end_ns = row.callback_stop_ns;
    sink.row(&row, tally);
  } else if (const auto* control = std::get_if<ControlRow>(&event.data)) {
    const ControlRow row = in_flight(*control);
    sink.row(&row, tally);
  } else if (const auto* net = std::get_if<NetRow>(&event.data)) {
    const NetRow row = in_flight(*net);
    sink.row(&row, tally);
  } else if (const auto* engine = std::get_if<CopyEngineRow>(&event.data)) {
    const CopyEngineRow row = in_flight(*engine);
    sink.row(&row, tally);
  }
}

// Of a call that has not ended. An enqueue's callbacks are accounted for with its operation.
void Assembler::write_open_call(Sink& sink, EventId id, const Event& event, std::int64_t now_ns) {
  Call call = std::get<CallEvent>(event.data).call;
  call.end_ns = slices_.end_of_open_ns(call.tid, id, call.start_ns, now_ns);
  call.in_flight = true;
  call.sampled_out = event.sampled_out;
  sink.row(&call, call.operation == 0 ? event.tally() : Tally{});
}

std::uint64_t Assembler::write_in_flight(Sink& sink, std::int64_t now_ns) {
  user_marks_.write_open(sink, now_ns);
  std::uint64_t written = 0;
  std::vector<EventId> open;
  open.reserve(events_.size());
  for (auto at = events_.oldest(); at; at.next()) {
    open.push_back(at.id());
  }
  std::sort(open.begin(), open.end());
  for (const EventId id : open) {
    const Event& event = *events_.find(id);
    const auto* called = std::get_if<CallEvent>(&event.data);
    if (called == nullptr) {
      write_open_row(sink, event, now_ns);
    } else if (called->call.end_ns == kUnknownTime) {
      write_open_call(sink, id, event, now_ns);
    } else if (called->is_held) {
      sink.row(&called->call, event.tally());
    }
  }
  unfinished_.for_each([&](const Unfinished::Entry& entry) {
    const OpenOperation* const state = operations_.find(entry.number);
    if (state == nullptr || state->finished) {
      return;
    }
    Built built = build(*state);
    auto& [operation, kernels, extent] = built;
    write_changed_fits();
    operation.in_flight = state->open_children > 0 || operation.enqueue_end_ns == kUnknownTime ||
                          (state->expects_kernels && operation.state != OperationState::kCompleted);
    const OperationRow row{&operation, &communicators_.of(operation.context)};
    // What was seen to end is over, but for the wait for what may come late.
    if (operation.sampled_out && !operation.in_flight) {
      if (&sink == &sink_) {
        sample_out(row, state->tally);
        for (std::size_t i = 0; i < kernels.size(); ++i) {
          sample_out(&kernels[i], state->kernels[i].tally);
        }
      }
      return;
    }
    Tally tally = state->tally;
    if (const Event* const enqueue = events_.find(state->event); enqueue != nullptr) {
      tally.joined = enqueue->joined;  // states, of an enqueue that has not stopped
    }
    sink.row(row, tally);
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      sink.row(&kernels[i], state->kernels[i].tally);
    }
    ++written;
  });
  std::uint64_t number = next_operation_;
  for (const EventId id : childless_calls_) {
    const Event* const found = events_.find(id);
    if (found == nullptr) {
      continue;
    }
    const auto& call = std::get<CallEvent>(found->data);
    if (call.has_child) {
      continue;
    }
    const Operation operation =
        call_operation(call, number++, call.call.end_ns == kUnknownTime || group_of(call));
    sink.row(OperationRow{&operation, &communicators_.of(operation.context)}, Tally{});
    ++written;
  }
  return written;
}

void Assembler::keep_limits(std::int64_t now_ns) {
  if (orphans_.size() > limits_.orphans) {
    orphans_.give_up_oldest([this](const RecordView& view, std::uint64_t operation, bool last_try) {
      return retry(view, operation, last_try);
    });
  }
  if (captured_.size() > limits_.captured) {
    const Event* const oldest = events_.find(captured_.front());
    if (oldest != nullptr && std::get<CallEvent>(oldest->data).call.end_ns == kUnknownTime) {
      captured_.push_back(captured_.front());  // its turn comes, or give_up_oldest takes it
    } else {
      events_.erase(captured_.front());
    }
    captured_.pop_front();
  }
  // What is given up stays remembered at first. Until what was finished before it is forgotten
  // instead, one portion after the other would take longer than the rings have room for.
  const std::size_t early = limits_.events / 9 * 8;
  const bool is_near = held_events() > (early + limits_.events) / 2;
  const bool is_time = ++records_since_ > limits_.events / (is_near ? 256 : 128);
  if (held_events() > (is_time ? early : limits_.events)) {
    give_up_oldest(now_ns);
    records_since_ = 0;
  }
}

// What has been written and is only remembered has bounds of its own.
bool Assembler::can_be_given_up(const Event& event) const {
  const auto* const called = std::get_if<CallEvent>(&event.data);
  if (called == nullptr) {
    return true;
  }
  if (record::is_coll_like(event.type)) {
    const OpenOperation* const operation = operations_.find(event.operation);
    return operation != nullptr && !operation->finished;
  }
  return called->call.end_ns == kUnknownTime || !(called->has_child || called->call.captured);
}

// Some at once, so that the search for them costs little for each, and few enough that the rings do
// not fill up meanwhile.
void Assembler::give_up_oldest(std::int64_t now_ns) {
  const std::size_t wanted = std::max<std::size_t>(limits_.events / 256, 1);
  std::vector<EventId> oldest;
  oldest.reserve(wanted);
  // What an earlier search passed over cannot be given up any more.
  constexpr std::size_t kAhead = 8;
  const auto searched = events_.from(searched_until_);
  auto at = searched ? searched : events_.oldest();
  auto next = at, after_next = at;  // are fetched: the operation of one, of the other the event
  for (std::size_t i = 0; i < 2 * kAhead && after_next; ++i) {
    after_next.fetch();
    after_next.next();
  }
  for (std::size_t i = 0; i < kAhead && next; ++i) {
    operations_.fetch_value(next.value().operation);
    next.next();
  }
  for (; at && oldest.size() < wanted; at.next()) {
    if (after_next) {
      after_next.fetch();
      after_next.next();
    }
    if (next) {
      operations_.fetch_value(next.value().operation);
      next.next();
    }
    if (can_be_given_up(at.value())) {
      oldest.push_back(at.id());
    }
  }
  searched_until_ = at ? at.id() : 0;
  for (const EventId id : oldest) {
    give_up(id, now_ns);
  }
  forget_finished(now_ns);
  slices_.drop_unknown([&](EventId id) { return UserMarks::is_range(id) || events_.contains(id); });
}

void Assembler::give_up(EventId id, std::int64_t now_ns) {
  Event* const event = events_.find(id);
  if (event == nullptr) {
    return;
  }
  ++counts_.given_up[static_cast<std::size_t>(event->type)];
  if (std::holds_alternative<CallEvent>(event->data)) {
    give_up_call(id, *event, now_ns);
    // An operation that was enqueued stays known for its late events, as all finished ones do.
    if (!record::is_coll_like(event->type) ||
        std::get<CallEvent>(event->data).call.end_ns == kUnknownTime) {
      events_.erase(id);
    }
    return;
  }
  if (OpenOperation* const operation = open_operation(event->operation)) {
    if (!operation->finished) {
      wake(*operation, now_ns);
      finish(*operation, now_ns);
    }
    operation->open_children -= event->type != EventType::kProxyStep ? 1 : 0;
  }
  write_open_row(sink_, *event, now_ns);
  events_.erase(id);
}

void Assembler::give_up_call(EventId id, Event& event, std::int64_t now_ns) {
  const auto& called = std::get<CallEvent>(event.data);
  const bool ended = called.call.end_ns != kUnknownTime;
  if (called.is_held) {
    let_go(event);
  }
  if (!ended) {
    write_open_call(sink_, id, event, now_ns);
  }
  if (record::is_coll_like(event.type)) {
    if (OpenOperation* const operation = open_operation(event.operation);
        operation != nullptr && !operation->finished) {
      operation->tally.joined = event.joined;
      wake(*operation, now_ns);
      finish(*operation, now_ns);
    }
  } else if (record::is_call(event.type) && !called.has_child && !called.call.captured) {
    const Operation made = call_operation(called, next_operation_++, !ended || group_of(called));
    sink_.row(OperationRow{&made, &communicators_.of(made.context)}, Tally{});
    ++operations_written_;
  }
}

}  // namespace ringside::assemble
