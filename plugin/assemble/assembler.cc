// SPDX-License-Identifier: Apache-2.0
#include "plugin/assemble/assembler.h"

#include <algorithm>
#include <array>
#include <limits>
#include <new>

#include "plugin/assemble/operations/built_operation.h"
#include "plugin/assemble/sampling.h"
#include "plugin/record/encode.h"

namespace ringside::assemble {
namespace {

using record::EventId;
using record::EventType;
using record::RecordKind;

constexpr std::int64_t kForEver = std::numeric_limits<std::int64_t>::max();

std::size_t index_of(EventType type) {
  return static_cast<std::size_t>(type);
}

// Whether the records of an event without an operation of its own are still needed.
bool is_needed(const Event& event, const Operations& operations) {
  const auto* const called = std::get_if<CallEvent>(&event.data);
  return called == nullptr || !called->has_child || called->call.captured ||
         called->call.end_ns == kUnknownTime || operations.is_unfinished(called->child);
}

}  // namespace

void Assembler::open_communicator(const Communicator& opened) {
  Communicator& communicator = communicators_.open(opened);
  communicator.is_unsampled =
      sampled_of_ > 1 && communicator.abi_version <= kLastAbiWithoutSampling;
  gpu_clocks_.learn_gpu(communicator.context);
  sink_.communicator(communicator);
}

void Assembler::close_communicator(std::uint32_t context, std::int64_t ts_ns) {
  if (Communicator* const closed = communicators_.find(context)) {
    closed->finalized_ns = ts_ns;
    sink_.communicator(*closed);
  }
}

void Assembler::expect(std::uint32_t types, std::int64_t since_ns) {
  history_.expect(types, since_ns);
}

std::uint64_t Assembler::record(const RecordView& view, std::uint64_t operation,
                                bool is_parent_lost) {
  if (view.kind == RecordKind::kName) {
    const char* const text = view.payload.name.text;
    const char* const end = std::find(text, text + sizeof view.payload.name.text, '\0');
    names_.announce(view.ring, view.id, {text, static_cast<std::size_t>(end - text)});
    return 0;
  }
  // Before a row counts the record, too: an account may be made while rows are written.
  ++counts_.consumed[index_of(view.type)];
  std::uint64_t joined = 0;
  try {
    const std::optional<std::uint64_t> found = join(view, operation, is_parent_lost);
    if (!found) {
      orphans_.add(view, operation);
    }
    joined = found.value_or(operation);
    keep_limits(view.ts_ns);
  } catch (const std::bad_alloc&) {
    ++counts_.dropped_memory[index_of(view.type)];
  }
  return joined;
}

std::optional<std::uint64_t> Assembler::join(const RecordView& view, std::uint64_t given_operation,
                                             bool is_last_try) {
  switch (view.kind) {
    case RecordKind::kStart:
      return start(view, given_operation, is_last_try);
    case RecordKind::kState:
      return state(view);
    case RecordKind::kStop:
      return stop(view);
    default:
      return 0;
  }
}

std::optional<std::uint64_t> Assembler::start(const RecordView& view, std::uint64_t given_operation,
                                              bool is_last_try) {
  if (record::is_of_application(view.type)) {
    counts_.dropped_memory[index_of(view.type)] += user_marks_.start(view) ? 0 : 1;
    return 0;
  }
  const EventId parent = view.payload.step.parent;  // the first field of every start's payload
  if (parent != 0 && !is_last_try && !events_.contains(parent)) {
    return std::nullopt;
  }
  if (record::is_coll_like(view.type)) {
    return start_operation(view, given_operation);
  }
  if (record::is_api(view.type) || view.type == EventType::kGroup) {
    calls_.start(view, names_);
    return 0;
  }
  return children_.start(view, given_operation);
}

std::uint64_t Assembler::start_operation(const RecordView& view, std::uint64_t given_operation) {
  if (const Communicator* const changed = communicators_.learn(view, names_)) {
    sink_.communicator(*changed);
  }
  OpenOperation& open = operations_.start(view, given_operation, names_);
  Operation& operation = open.operation;
  const Calls::Surroundings around = calls_.join(view, open);
  operation.window = history_.window_at(operation.enqueue_start_ns);
  if (sampled_of_ > 1) {
    if (operation.kind != OperationKind::kP2p && !communicators_.of(view.context).is_unsampled) {
      operation.sample_of = sampled_of_;
      operation.sampled_out = !keeps_number(operation.func, operation.seq, sampled_of_);
    }
    calls_.count_operation(around, !operation.sampled_out);
  }
  calls_.start_enqueue(view, operation, around.enqueue_start_ns);
  operations_.watch(open, history_.types_at(around.mask_read_ns));
  return operation.number;
}

std::optional<std::uint64_t> Assembler::state(const RecordView& view) {
  Event* const event = events_.find(view.id);
  if (event == nullptr || Calls::has_ended(*event)) {
    return std::nullopt;
  }
  ++event->joined;
  children_.state(view, *event);
  return event->operation;
}

std::optional<std::uint64_t> Assembler::stop(const RecordView& view) {
  Event* const event = events_.find(view.id);
  if (event == nullptr || Calls::has_ended(*event)) {
    return std::nullopt;  // NCCL stops some calls twice
  }
  ++event->joined;
  const std::uint64_t operation = event->operation;
  if (const auto* const called = std::get_if<CallEvent>(&event->data)) {
    const bool is_enqueue = record::is_coll_like(event->type);
    calls_.stop(view, *event, sampled_of_ > 1);
    if (is_enqueue) {
      operations_.end_enqueue(operation, *event, view.ts_ns);
    }
    return operation;
  }
  if (std::holds_alternative<Mark>(event->data)) {
    user_marks_.stop(view, *event);
    events_.erase(view.id);
    return 0;
  }
  OpenOperation* const open = children_.stop(view, *event);
  if (auto* const kernel = std::get_if<KernelRow>(&event->data)) {
    stop_kernel(*event, *kernel, open);
  }
  events_.erase(view.id);
  return operation;
}

void Assembler::stop_kernel(const Event& event, KernelRow& kernel, OpenOperation* operation) {
  if (operation != nullptr && !operation->finished && event.type == EventType::kKernelCh) {
    operations_.keep_kernel(*operation, kernel, event.tally());
    return;
  }
  if (!event.sampled_out) {
    gpu_clocks_.place(kernel, operation != nullptr ? operation->earliest_ns : kUnknownTime);
    write_changed_fits();
  }
  rows_.write(&kernel, event.tally(), event.sampled_out);
}

void Assembler::settle(std::int64_t now_ns) {
  retry_orphans(now_ns);
  slices_.forget_idle(now_ns);
  calls_.settle(now_ns, [&](const CallEvent& called, bool in_flight) {
    write_api_operation(called, in_flight);
  });
  operations_.settle(now_ns, [&](OpenOperation& open) { finish(open, now_ns); });
  forget_finished(now_ns);
}

void Assembler::retry_orphans(std::int64_t now_ns) {
  orphans_.retry_all(now_ns,
                     [this](const RecordView& view, std::uint64_t operation, bool is_last_try) {
                       return retry(view, operation, is_last_try);
                     });
}

bool Assembler::retry(const RecordView& view, std::uint64_t operation, bool is_last_try) {
  const bool is_joined = join(view, operation, is_last_try).has_value();
  if (!is_joined && is_last_try) {
    ++counts_.stale[index_of(view.type)];
    sink_.stale(view);
  }
  return is_joined || is_last_try;
}

void Assembler::finish(OpenOperation& open, std::int64_t now_ns) {
  const BuiltOperation built(open, gpu_clocks_, progress_);
  const Operation& operation = built.operation;
  write_changed_fits();
  // The calls before write() may throw std::bad_alloc. The operation must be finished before its
  // rows are written, or they could be written twice.
  progress_.add(open, built.extent, operation.state == OperationState::kCompleted);
  operations_.set_finished(open, now_ns);
  operations_written_ +=
      built.write(rows_, communicators_.of(operation.context), open.tally) ? 1 : 0;
  operations_.forget_kernels(open);
}

void Assembler::write_changed_fits() {
  for (const GpuClocks::ChangedFit& changed : gpu_clocks_.take_changed_fits()) {
    sink_.gpu_clock(changed.context, changed.fit);
  }
}

void Assembler::write_api_operation(const CallEvent& called, bool in_flight) {
  const Operation made = api_operation(called, operations_.take_number(), in_flight);
  rows_.write(OperationRow{&made, &communicators_.of(made.context)}, Tally{});
  ++operations_written_;
}

Operation Assembler::api_operation(const CallEvent& called, std::uint64_t number,
                                   bool in_flight) const {
  Operation made = Calls::api_operation(called, number);
  made.rank = communicators_.of(made.context).rank;
  made.window = history_.window_at(made.enqueue_start_ns);
  made.in_flight = in_flight;
  return made;
}

void Assembler::forget_finished(std::int64_t now_ns) {
  constexpr std::size_t kAhead = 8;
  while (const auto* const oldest = operations_.oldest_to_forget(limits_.finished, now_ns)) {
    if (const auto* const next = operations_.finished_behind_oldest(kAhead)) {
      operations_.fetch_value(next->number);
      events_.fetch_value(next->event);
      events_.fetch_value(next->call);
    }
    if (const auto* const after_next = operations_.finished_behind_oldest(2 * kAhead)) {
      operations_.fetch(after_next->number);
      events_.fetch(after_next->event);
      events_.fetch(after_next->call);
    }
    events_.erase(oldest->event);
    calls_.forget(oldest->call, now_ns);
    operations_.forget_oldest();
  }
}

void Assembler::keep_limits(std::int64_t now_ns) {
  if (orphans_.size() > limits_.orphans) {
    orphans_.give_up_oldest(
        [this](const RecordView& view, std::uint64_t operation, bool is_last_try) {
          return retry(view, operation, is_last_try);
        });
  }
  calls_.keep_captured(limits_.captured);
  if (eviction_.is_due(held_events())) {
    for (const EventId id : eviction_.choose(events_, operations_)) {
      evict(id, now_ns);
    }
    forget_finished(now_ns);
    slices_.drop_unknown([&](EventId id) { return events_.contains(id); });
  }
}

void Assembler::evict(EventId id, std::int64_t now_ns) {
  Event* const event = events_.find(id);
  if (event == nullptr) {
    return;
  }
  ++counts_.given_up[index_of(event->type)];
  if (std::holds_alternative<CallEvent>(event->data)) {
    evict_call(id, *event, now_ns);
    return;
  }
  if (OpenOperation* const operation = operations_.find(event->operation)) {
    if (!operation->finished) {
      finish(*operation, now_ns);
    }
    if (event->type != EventType::kProxyStep) {
      operations_.stop_child(*operation, now_ns);
    }
  }
  Children::write_open(sink_, *event, now_ns);
  events_.erase(id);
}

void Assembler::evict_call(EventId id, Event& event, std::int64_t now_ns) {
  const auto& called = std::get<CallEvent>(event.data);
  const bool has_ended = Calls::has_ended(event);
  calls_.release(event);
  if (!has_ended) {
    const Call open = calls_.row_without_stop(id, event, now_ns);
    rows_.write(&open, Calls::tally(event));
  }
  if (record::is_coll_like(event.type)) {
    OpenOperation* const operation = operations_.find(event.operation);
    if (operation != nullptr && !operation->finished) {
      operation->tally.joined = event.joined;
      finish(*operation, now_ns);
    }
    if (has_ended) {
      return;  // it stays known for late records, like every finished operation
    }
  } else if (record::is_call(event.type) && !called.has_child && !called.call.captured) {
    write_api_operation(called, calls_.is_in_flight(called));
  }
  events_.erase(id);
}

void Assembler::answer(std::span<Question> questions) const {
  const IdSet orphans = orphans_.ids();
  // Most events asked for are in no cache, so this many look-ups go on at the same time.
  constexpr std::size_t kAtOnce = 32;
  std::array<const Event*, kAtOnce> found{};
  for (; !questions.empty(); questions = questions.subspan(std::min(kAtOnce, questions.size()))) {
    const auto now = questions.first(std::min(kAtOnce, questions.size()));
    for (const Question& question : now) {
      question.operation != 0 ? operations_.fetch(question.operation) : events_.fetch(question.id);
    }
    for (const Question& question : now) {
      question.operation != 0 ? operations_.fetch_value(question.operation)
                              : events_.fetch_value(question.id);
    }
    for (std::size_t i = 0; i < now.size(); ++i) {
      found[i] = now[i].operation == 0 ? events_.find(now[i].id) : nullptr;
      const auto* const called =
          found[i] != nullptr ? std::get_if<CallEvent>(&found[i]->data) : nullptr;
      if (called != nullptr) {
        operations_.fetch_value(called->child);
      }
    }
    for (std::size_t i = 0; i < now.size(); ++i) {
      Question& question = now[i];
      question.is_needed = question.operation != 0 ? operations_.is_unfinished(question.operation)
                           : found[i] != nullptr   ? is_needed(*found[i], operations_)
                                                   : orphans.contains(question.id);
    }
  }
}

std::uint64_t Assembler::write_in_flight(Sink& sink, std::int64_t now_ns) {
  TypeCounts not_counted{};
  RowWriter rows(sink, &sink == &sink_ ? counts_.sampled_out : not_counted);
  std::uint64_t written = 0;
  std::vector<EventId> ids;
  ids.reserve(events_.size());
  for (auto at = events_.oldest(); at; at.next()) {
    ids.push_back(at.id());
  }
  std::sort(ids.begin(), ids.end());
  for (const EventId id : ids) {
    const Event& event = *events_.find(id);
    const auto* const called = std::get_if<CallEvent>(&event.data);
    if (const auto* const range = std::get_if<Mark>(&event.data)) {
      const Mark open = user_marks_.open_row(id, *range, now_ns);
      rows.write(&open, event.tally());
    } else if (called == nullptr) {
      Children::write_open(sink, event, now_ns);
    } else if (!Calls::has_ended(event)) {
      const Call open = calls_.open_row(id, event, now_ns);
      rows.write(&open, Calls::tally(event));
    } else if (called->is_held) {
      rows.write(&called->call, event.tally());
    }
  }
  operations_.for_each_unfinished([&](const OpenOperation& open) {
    BuiltOperation built(open, gpu_clocks_, progress_);
    write_changed_fits();
    Operation& operation = built.operation;
    // An operation that was seen to end is not in flight: it only waits for late records.
    operation.in_flight |= open.expects_kernels && operation.state != OperationState::kCompleted;
    Tally tally = open.tally;
    if (const Event* const enqueue = events_.find(open.event)) {
      tally.joined = enqueue->joined;  // an open enqueue may have had states
    }
    written += built.write(rows, communicators_.of(operation.context), tally) ? 1 : 0;
  });
  std::uint64_t number = operations_.next_number();
  calls_.for_each_childless([&](const CallEvent& called, bool in_flight) {
    const Operation made = api_operation(called, number++, in_flight);
    rows.write(OperationRow{&made, &communicators_.of(made.context)}, Tally{});
    ++written;
  });
  return written;
}

void Assembler::close(std::int64_t now_ns) {
  retry_orphans(kForEver);  // no record comes any more for which they could wait
  settle(now_ns);
  operations_written_ += write_in_flight(sink_, now_ns);
  slices_.clear();
  events_.clear();
  operations_.clear();
  calls_.clear();
}

}  // namespace ringside::assemble
